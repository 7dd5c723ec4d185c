internal import FetchIndexModels
/// Proves that the log is complete as it is read: the numbers of commits and parts have no gaps, and a commit's entries
/// match the counts in its header.
struct LogProof {
    private var commit: UInt64
    private var nextPart: UInt32 = 0
    private var counted: [Int: EntityChanges] = [:]
    private var found: [Int: EntityChanges] = [:]

    /// Begins the proof before the commit that follows the given one.
    init(after commit: UInt64) { self.commit = commit }

    /// Begins a part. Call it with each key and value in key order.
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

    /// Counts an entry of the part.
    mutating func note(_ kind: LogEntryKind, _ entity: Int, _ count: UInt64) {
        found[entity, default: EntityChanges()].add(kind, count)
    }

    /// Ends the proof. Throws unless `last` was the last commit read and its entries match its counts.
    func end(through last: UInt64) throws {
        guard commit == last else { throw StoreError.corrupted("the log has no commit \(commit + 1)") }
        guard counted == found else {
            throw StoreError.corrupted("the changes in the log do not match the counts of commit \(commit)")
        }
    }
}
