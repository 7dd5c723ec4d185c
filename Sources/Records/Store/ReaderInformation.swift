internal import FetchIndexCLibrary
internal import FetchIndexLMDB

/// A read transaction of the store in any process: the age of the state that it sees, and the pages that it pins.
package struct ReaderInformation: Sendable {
    package let process: Int
    /// The number of LMDB transactions since the one that it sees.
    package let transactions: Int
    /// Seconds since the oldest commit in the log that it does not see; 0 if it sees the newest commit. Nil if the log
    /// doesn't hold these commits.
    package let seconds: Double?
    /// Whether commits that it does not see may be missing in the log, so that it may be older than `seconds`.
    package let isOlder: Bool
    /// The number of free pages whose reuse this reader prevents.
    package let pinnedPages: Int
    package let pinnedBytes: Int

    static func list(
        _ readers: [Environment.Reader], in snapshot: Snapshot, _ free: [(transaction: Int, count: Int)], pageSize: Int
    ) throws -> [ReaderInformation] {
        let oldest = readers.compactMap(\.transaction).min()
        let commits = try oldest.map { try RecentCommits(after: $0, in: snapshot) }
        let newest = snapshot.view.identifier
        return readers.compactMap { reader in
            guard let transaction = reader.transaction, let commits else { return nil }
            // LMDB reuses only pages that were freed before the oldest state that a reader or the next writer can see.
            let pinned = free.reduce(0) { sum, freed in
                sum + ((transaction..<max(transaction, newest)).contains(freed.transaction) ? freed.count : 0)
            }
            let age = transaction >= newest ? (0, false) : commits.age(ofReaderAt: transaction)
            return ReaderInformation(
                process: reader.process, transactions: max(0, newest - transaction), seconds: age?.0,
                isOlder: age?.1 ?? false, pinnedPages: pinned, pinnedBytes: pinned * pageSize)
        }
    }
}

/// The commits that a reader's transaction does not see, newest first.
private struct RecentCommits {
    private var headers: [CommitHeader] = []
    /// Whether older commits may be missing: trimmed from the log, or behind a damaged header.
    private var isCut = false
    private let now = currentTime()

    init(after transaction: Int, in snapshot: Snapshot) throws {
        var commit = snapshot.commit
        while commit > snapshot.state.logStart {
            // A damaged header has no time, and the commits before it cannot be dated.
            guard let header = try? snapshot.commitHeader(commit) else { break }
            // A compact copy counts transactions from 1: a greater number belongs to the store that was copied.
            if header.transaction <= transaction || header.transaction > headers.last?.transaction ?? .max { return }
            headers.append(header)
            commit -= 1
        }
        isCut = commit > 0
    }

    func age(ofReaderAt transaction: Int) -> (Double, Bool)? {
        guard let last = headers.lastIndex(where: { $0.transaction > transaction }) else {
            return isCut ? nil : (0, false)
        }
        return (max(0, now - headers[last].time), isCut && last == headers.count - 1)
    }
}

/// The name of a process's program from /proc, at most 15 bytes; nil if it is unknown.
package func programName(ofProcess process: Int) -> String? {
    let file = open("/proc/\(process)/comm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var name = [UInt8](repeating: 0, count: 64)
    let length = read(file, &name, name.count)
    return length > 1 ? String(decoding: name[..<(length - 1)], as: UTF8.self) : nil
}
