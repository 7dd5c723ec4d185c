internal import FetchIndexCLibrary
internal import FetchIndexLMDB

/// A read transaction of the store in any process, with the age of its state and the pages that it pins.
package struct ReaderInformation: Sendable {
    package let process: Int
    /// The number of LMDB transactions committed since the one whose state the reader sees.
    package let transactions: Int
    /// The age in seconds of the oldest commit found in the log that the reader doesn't see; 0 if it sees the newest
    /// commit. Nil if the age is unknown, because the newest commit is no longer in the log, or its header is damaged.
    package let seconds: Double?
    /// Whether there may be still older commits that the reader doesn't see. If so, the reader's state may be older
    /// than `seconds`. False if `seconds` is nil.
    package let isOlder: Bool
    /// The number of free pages that writers can't reuse because of this reader.
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
            // LMDB reuses a page only if the transaction that freed it is older than the newest transaction and than
            // the transactions of all readers.
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

/// The commits in the log that a reader's transaction doesn't see, newest first.
private struct RecentCommits {
    private var headers: [CommitHeader] = []
    /// Whether older commits may be missing, because they were trimmed from the log or are older than a commit with a
    /// damaged header.
    private var isCut = false
    private let now = currentTime()

    init(after transaction: Int, in snapshot: Snapshot) throws {
        var commit = snapshot.commit
        while commit > snapshot.state.logStart {
            // A damaged header ends the search, because its time and transaction are unknown.
            guard let header = try? snapshot.commitHeader(commit) else { break }
            // In a compact copy or a converted file, LMDB numbers transactions from 1 again. So if an older commit has a
            // greater number, it was made in the original, and every reader of the copy sees it.
            if header.transaction <= transaction
                || header.transaction > headers.last?.transaction ?? snapshot.transactionNumber
            {
                return
            }
            headers.append(header)
            commit -= 1
        }
        isCut = commit > 0
    }

    func age(ofReaderAt transaction: Int) -> (Double, Bool)? {
        // If no commit is newer than the reader's transaction, the reader sees the newest commit. Whether one is newer
        // is unknown if the log doesn't have the newest commit, or has it with a damaged header.
        guard let last = headers.lastIndex(where: { $0.transaction > transaction }) else {
            return headers.isEmpty && isCut ? nil : (0, false)
        }
        return (max(0, now - headers[last].time), isCut && last == headers.count - 1)
    }
}

/// The name of a process's program from /proc, at most 15 bytes long; nil if it's unknown.
package func programName(ofProcess process: Int) -> String? {
    let file = open("/proc/\(process)/comm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var name = [UInt8](repeating: 0, count: 64)
    let length = read(file, &name, name.count)
    return length > 1 ? String(decoding: name[..<(length - 1)], as: UTF8.self) : nil
}
