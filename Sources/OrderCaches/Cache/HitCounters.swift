internal import Files
internal import SystemBasics

/// How often each cache was a hit, and when last: statistics in a file beside the store, so that a hit writes nothing
/// to the store. For cache number n, at 16 x n: count 8 | last hit 8 (seconds since 1970, a double).
///
/// When the file is lost, only statistics are lost; hits of a store on a read-only file system are not counted.
struct HitCounters {
    private static let entryLength = 16

    private let path: String

    init(inFolder folder: String) { path = folder + "/hits" }

    /// Counts a hit, under a lock on the file that other processes respect. Does nothing where the file cannot be
    /// written.
    func count(_ cache: UInt32, time: Double) {
        withFile(O_RDWR | O_CREAT, isLocked: true) { file in
            var entry = read(cache, from: file)
            entry.count &+= 1
            entry.last = time.bitPattern
            write(entry, of: cache, to: file)
        }
    }

    /// Gives the hits of a cache to its new number, after a rebuild.
    func transfer(from old: UInt32, to new: UInt32) {
        withFile(O_RDWR, isLocked: true) { file in
            write(read(old, from: file), of: new, to: file)
            write(Entry(), of: old, to: file)
        }
    }

    /// Resets the hits of a deleted cache.
    func reset(_ cache: UInt32) {
        withFile(O_RDWR) { write(Entry(), of: cache, to: $0) }
    }

    /// The hits of a cache and the time of the last; nil when there was none.
    func hits(of cache: UInt32) -> (count: Int, last: Double?) {
        var entry = Entry()
        withFile(O_RDONLY) { entry = read(cache, from: $0) }
        return (Int(clamping: entry.count), entry.count == 0 ? nil : Double(bitPattern: entry.last))
    }

    /// Does nothing when the file cannot be opened or locked.
    private func withFile(_ flags: Int32, isLocked: Bool = false, _ body: (Int32) -> Void) {
        let file = Descriptors.open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return }
        defer { close(file) }
        if !isLocked || flock(file, LOCK_EX) == 0 { body(file) }
    }

    private struct Entry {
        var count: UInt64 = 0
        var last: UInt64 = 0
    }

    private func read(_ cache: UInt32, from file: Int32) -> Entry {
        var entry = Entry()
        let length = withUnsafeMutableBytes(of: &entry) {
            pread(file, $0.baseAddress, Self.entryLength, off_t(Int(cache) * Self.entryLength))
        }
        return length == Self.entryLength ? entry : Entry()
    }

    private func write(_ entry: Entry, of cache: UInt32, to file: Int32) {
        _ = withUnsafeBytes(of: entry) {
            pwrite(file, $0.baseAddress, Self.entryLength, off_t(Int(cache) * Self.entryLength))
        }
    }
}
