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
    /// The `transactionAuthor` of the context that saved the commit.
    public let author: String
    public let changes: [Change]
}

extension ManagedObjectContext {
    /// Returns the commits after a given one, oldest first: those of contexts, batches and other processes. O(changes).
    /// Throws `StoreError.logTooShort` if the log doesn't contain all of them.
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

    /// Deletes the history before `commit`. The next opening of a cache that is older rebuilds the cache. The store
    /// also trims its log automatically: to the store's limit, and beyond 16 MiB to the part that caches need. Throws
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
