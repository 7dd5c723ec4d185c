public import FetchIndexEssentials
public import FetchIndexModels
internal import FetchIndexRecords

/// A commit in the store's history.
public struct HistoryTransaction: Sendable {
    public struct Change: Hashable, Sendable {
        public let objectID: ObjectID
        public let kind: ChangeKind
    }

    /// The number of the commit. Numbers grow by one.
    public let commit: UInt64
    public let time: Date
    /// The author that the writer gave, for example the `transactionAuthor` of a context.
    public let author: String
    public let changes: [Change]
}

extension ManagedObjectContext {
    /// Returns the commits after a given commit, oldest first, whether a context, a batch or another process made them.
    /// O(changes + k log n) for k commits. Throws `StoreError.logTooShort` if the log doesn't contain all of these
    /// commits, or if the given commit is newer than the newest one.
    public func fetchHistory(after commit: UInt64) throws -> [HistoryTransaction] {
        try withPublicErrors {
            let newest = try container.store.snapshot()
            guard newest.logReaches(back: commit) else { throw StoreError.logTooShort(commit: commit) }
            return try newest.commits(after: commit).map { header in
                HistoryTransaction(
                    commit: header.commit, time: Date(timeIntervalSince1970: header.time), author: header.author,
                    changes: try newest.changes(in: header.commit).map { change in
                        .init(objectID: id(of: change.object, in: newest.model), kind: ChangeKind(change.kind))
                    })
            }
        }
    }

    /// Deletes the commits before `commit` from the log. A cache that needs one of them to catch up is rebuilt when
    /// it's next opened. The store also trims its log itself, oldest commits first: if the log exceeds its limit, until
    /// at most 7/8 of the limit are left; and if the store has caches and the log exceeds 20 MiB, until at most 16 MiB
    /// are left, or only commits that a cache, its exact reader, a bookmark or a running build needs. Throws
    /// `StoreError`.
    public func deleteHistory(before commit: UInt64) throws {
        try withPublicErrors {
            guard commit > 0 else { return }
            let writer = try container.store.beginWrite(changesRecords: false)
            try writer.trimLog(through: min(commit - 1, writer.commit))
            try writer.commit()
        }
    }
}

extension ChangeKind {
    fileprivate init(_ kind: LogEntryKind) {
        self =
            switch kind {
            case .inserted: .insert
            case .updated: .update
            case .deleted: .delete
            }
    }
}
