internal import FetchIndexModels
/// Checks, while a log is read, that the log is complete. The numbers of commits and of parts must have no gaps, and
/// the entries of a commit must match the counts in its header.
struct LogProof {
    private var commit: UInt64
    private var nextPart: UInt32 = 0
    private var counted: [Int: EntityChanges] = [:]
    private var found: [Int: EntityChanges] = [:]

    /// Begins the check. The first commit to be read is the one after `commit`.
    init(after commit: UInt64) { self.commit = commit }

    /// Begins a part of the log. Must be called with each key and value, in key order.
    mutating func begin(_ key: LogKey, _ value: borrowing RawSpan) throws {
        if key.part == 0 {
            try end(through: key.commit - 1)
            commit = key.commit
            nextPart = 0
            counted = try CommitHeader(commit: commit, decoding: copy value).changes
            found = [:]
        }
        guard key.commit == commit else {
            throw StoreError.corrupted("the log has no part 0 of commit \(key.commit)")
        }
        guard key.part == nextPart else {
            throw StoreError.corrupted("the log has no part \(nextPart) of commit \(commit)")
        }
        nextPart += 1
    }

    /// Counts an entry of the current part.
    mutating func note(_ entry: LogEntry) {
        found[entry.object.entity, default: EntityChanges()].add(entry.kind, entry.count)
    }

    /// Ends the check. Throws unless `last` was the last commit that was read, and its entries match its counts.
    func end(through last: UInt64) throws {
        guard commit == last else { throw StoreError.corrupted("the log has no commit \(commit + 1)") }
        guard counted == found else {
            throw StoreError.corrupted("the changes in the log do not match the counts of commit \(commit)")
        }
    }
}
