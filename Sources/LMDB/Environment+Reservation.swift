internal import FetchIndexCLibrary

// The address space that a map takes before its file needs it.
//
// A map moves when it grows, which it can't while a transaction of this process is open; and a context pins one while
// it exists. So a map is far larger than its file: 1 TiB if a process has a few stores, and the less the more it has,
// so that thousands fit in the 128 TiB of a process.
extension Environment {
    private static let (leastReservation, mostReservation) = (1 << 34, 1 << 40)
    /// The sum of all reservations, except for a logarithmic factor: beside n others, one gets 1 / (n + 1) of it.
    private static let sharedAddresses = 1 << 43
    /// The factor by which a file may grow before its map grows.
    private static let growth = 8
    private static let smallestMap = 1 << 26
    private static let granularity = 1 << 21

    /// The bytes of address space for a file, if this process has this many other environments open.
    static func reservation(fileBytes: Int, beside others: Int) -> Int {
        let fileBytes = min(max(0, fileBytes), 1 << 46)
        let share = min(mostReservation, sharedAddresses / (max(0, others) + 1))
        let wanted = max(leastReservation, share, min(growth * fileBytes, mostReservation), 2 * fileBytes)
        return wanted / granularity * granularity
    }

    /// The reservation for the data file in a folder as it is now; the file need not exist.
    static func reservation(forFolder path: String) -> Int {
        var status = stat()
        let fileBytes = stat(path + "/data.mdb", &status) == 0 ? Int(status.st_size) : 0
        return reservation(fileBytes: fileBytes, beside: EnvironmentRegistry.openCount)
    }

    /// The map size, halved until the system grants it. LMDB maps at least the size of the file.
    static func available(_ mapSize: Int) -> Int {
        var mapSize = mapSize
        while mapSize > smallestMap, !hasRoom(for: mapSize) { mapSize /= 2 }
        return mapSize
    }
}
