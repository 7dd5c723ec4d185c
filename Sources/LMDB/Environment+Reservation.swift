internal import FetchIndexPlatform

// How much address space a map takes before its file needs it.
//
// A map moves when it grows, which it cannot while a transaction of this process is open; and a context pins one as long as it lives.
// So a map is far larger than its file: 1 TiB where a process has a few stores, and so much less where it has many that thousands
// fit in the 128 TiB of a process.
extension Environment {
    private static let (leastReservation, mostReservation) = (1 << 34, 1 << 40)
    /// What the reservations that are made beside n others add up to, but for a logarithmic factor.
    private static let sharedAddresses = 1 << 43
    /// How many times as large as it is a file may become before its map grows.
    private static let growth = 8
    private static let smallestMap = 1 << 26
    private static let granularity = 1 << 21

    /// The bytes of address space for a file, beside a number of other environments that this process has open.
    static func reservation(fileBytes: Int, beside others: Int) -> Int {
        let fileBytes = min(max(0, fileBytes), 1 << 46)
        let share = min(mostReservation, sharedAddresses / (max(0, others) + 1))
        let wanted = max(leastReservation, share, min(growth * fileBytes, mostReservation), 2 * fileBytes)
        return wanted / granularity * granularity
    }

    /// For the file in a folder as it is now; it need not exist.
    static func reservation(forFolder path: String) -> Int {
        var status = stat()
        let fileBytes = stat(path + "/data.mdb", &status) == 0 ? Int(status.st_size) : 0
        return reservation(fileBytes: fileBytes, beside: EnvironmentRegistry.openCount)
    }

    /// The size, or as much less of it as the system gives. LMDB takes at least the size of the file.
    static func available(_ mapSize: Int) -> Int {
        var mapSize = mapSize
        while mapSize > smallestMap, !hasRoom(for: mapSize) { mapSize /= 2 }
        return mapSize
    }
}
