internal import FetchIndexCLibrary

// The size of a map: address space that is reserved before the file needs it.
//
// A map moves when it grows, which isn't possible while a transaction of this process is open, such as a context's. So
// a map is usually far larger than its file: 1 TiB if a process has a few stores open, and less if it has many, so that
// thousands of maps fit into the 128 TiB of a process.
extension Environment {
    private static let (leastReservation, mostReservation) = (1 << 34, 1 << 40)
    /// The address space that maps share. If n other environments are open, the next one gets 1 / (n + 1) of it, within
    /// the limits above. So n maps of small files (n from 2 to 500) take less than ln n times this much.
    private static let sharedAddresses = 1 << 43
    /// The factor by which a file may grow before its map must grow, unless the map would exceed `mostReservation`.
    private static let growth = 8
    private static let smallestMap = 1 << 26
    private static let granularity = 1 << 21

    /// The size of the map for a file, if this process has `others` other environments open.
    static func reservation(fileBytes: Int, beside others: Int) -> Int {
        let fileBytes = min(max(0, fileBytes), 1 << 46)
        let share = min(mostReservation, sharedAddresses / (max(0, others) + 1))
        let wanted = max(leastReservation, share, min(growth * fileBytes, mostReservation), 2 * fileBytes)
        return wanted / granularity * granularity
    }

    /// The size of the map for the data file in a folder, by the file's current length, which is 0 if it's missing.
    static func reservation(forFolder path: String) -> Int {
        var status = stat()
        let fileBytes = stat(EnvironmentFiles.data(in: path), &status) == 0 ? Int(status.st_size) : 0
        return reservation(fileBytes: fileBytes, beside: EnvironmentRegistry.openCount)
    }

    /// Halves a map size until the system would grant it, or until it's at most `smallestMap`. If the file is larger
    /// than the result, LMDB maps the whole file.
    static func available(_ mapSize: Int) -> Int {
        var mapSize = mapSize
        while mapSize > smallestMap, !hasRoom(for: mapSize) { mapSize /= 2 }
        return mapSize
    }
}
