internal import FetchIndexModels
/// Proves that what is read of the log is all that was written: commits follow each other, parts too, and a commit's
/// entries are as many as its header counts.
struct LogProof {
    private var commit: UInt64
    private var nextPart: UInt32 = 0
    private var counted: [Int: EntityChanges] = [:]
    private var found: [Int: EntityChanges] = [:]

    /// Before the commit that follows a given one.
    init(after commit: UInt64) { self.commit = commit }

    /// Called with each key and value in turn.
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

    /// Called with each entry.
    mutating func note(_ kind: LogEntryKind, _ entity: Int, _ count: UInt64) {
        found[entity, default: EntityChanges()].add(kind, count)
    }

    /// Called at the end.
    func end(through last: UInt64) throws {
        guard commit == last else { throw StoreError.corrupted("the log has no commit \(commit + 1)") }
        guard counted == found else {
            throw StoreError.corrupted("the changes in the log do not match the counts of commit \(commit)")
        }
    }
}
