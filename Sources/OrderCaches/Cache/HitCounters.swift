internal import Files
internal import SystemBasics
internal import LMDB

/// How often each cache was a hit, and when last: statistics in a file beside the store, so that a hit writes nothing
/// to the store. For cache number n, at 16 x n: count 8 | last hit 8 (seconds since 1970, a double).
///
/// Losing the file loses nothing but the statistics; a store on a read-only file system counts no hits.
struct HitCounters {
    private static let entryLength = 16

    private let path: String

    init(inFolder folder: String) { path = folder + "/hits" }

    /// Counts a hit, under a lock on the file that other processes respect. Does nothing where the file cannot be
    /// written.
    func count(_ cache: UInt32, time: Double) {
        let file = Descriptors.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return }
        defer { close(file) }
        guard flock(file, LOCK_EX) == 0 else { return }
        var entry = read(cache, from: file)
        entry.count &+= 1
        entry.last = time.bitPattern
        write(entry, of: cache, to: file)
    }

    /// Gives the hits of a cache to its new number, after a rebuild.
    func transfer(from old: UInt32, to new: UInt32) {
        let file = Descriptors.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return }
        defer { close(file) }
        guard flock(file, LOCK_EX) == 0 else { return }
        write(read(old, from: file), of: new, to: file)
        write(Entry(), of: old, to: file)
    }

    /// Forgets the hits of a cache that is deleted.
    func reset(_ cache: UInt32) {
        let file = Descriptors.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return }
        defer { close(file) }
        write(Entry(), of: cache, to: file)
    }

    /// The hits of a cache and the time of the last; nil when there was none.
    func hits(of cache: UInt32) -> (count: Int, last: Double?) {
        let file = Descriptors.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return (0, nil) }
        defer { close(file) }
        let entry = read(cache, from: file)
        return (Int(clamping: entry.count), entry.count == 0 ? nil : Double(bitPattern: entry.last))
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
