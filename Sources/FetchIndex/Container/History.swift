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

/// The net change of an object between two points.
public struct ObjectChange: Sendable {
    public let objectID: ObjectID
    public let kind: ChangeKind
    /// The object's entity: the one that was asked for, or a subentity.
    public let entity: Entity
    /// The values before, in the order of the entity's attributes; nil for an inserted object.
    public let oldValues: [Value]?
    /// The values after, in the order of the entity's attributes; nil for a deleted object.
    public let newValues: [Value]?
    /// The names of the object's relationships that lead to another object, or to another place among the objects of an
    /// ordered inverse. Only relationships that the object's own record has count: to-one relationships, and of a
    /// one-to-one relationship one side. For an inserted object, those that lead to an object; empty for a deleted one.
    public let changedRelationships: [String]
}

extension PersistentContainer {
    /// Calls the body with the net change of each object of an entity and its subentities from one point to another, by
    /// default to the newest state: several changes of an object are one, and changes that undo each other none. For
    /// each entity, updated and deleted objects come first, by number, and then the inserted ones. A change of a
    /// relationship is an update of the object whose record has the reference. Returns the commits of the two points.
    ///
    /// O(k log n) for k changes since the first point, with at most some 200 bytes of memory for each. Throws
    /// `StoreError`: `logTooShort` if the log doesn't have all changes since the point, or if the second point is before
    /// the first one; `modelMismatch` if a migration has rewritten records since then. Rethrows the body's errors.
    @discardableResult
    public func forEachChange(
        ofEntity name: String, since point: StorePoint, until end: StorePoint? = nil,
        _ body: (ObjectChange) throws -> Void
    ) throws -> (first: UInt64, last: UInt64) {
        try withPublicErrors {
            let snapshot = try store.snapshot()
            let (first, last) = try (point.commit(in: snapshot), end?.commit(in: snapshot) ?? snapshot.commit)
            guard try first >= snapshot.lastRewrite() else {
                throw StoreError.modelMismatch(entity: name, "a migration has rewritten records since commit \(first)")
            }
            try forEachChange(ofEntity: name, from: first, to: last, in: snapshot, body)
            return (first, last)
        }
    }

    /// Calls the body with the net changes of objects between two commits in a reader's log.
    func forEachChange(
        ofEntity name: String, from first: UInt64, to last: UInt64, in reader: StoreReader,
        _ body: (ObjectChange) throws -> Void
    ) throws {
        let model = reader.model
        for member in try model.hierarchy(of: model.number(of: name)) {
            let entity = model.entities[member]
            let references = entity.links?.references ?? []
            try reader.netChanges(of: member, from: first, to: last) { change in
                func values(_ record: [UInt8]?) throws -> [Value]? {
                    try record.map { try entity.values(of: $0.span.bytes) }
                }
                try body(
                    ObjectChange(
                        objectID: id(of: change.object, in: model),
                        kind: change.old == nil ? .insert : change.new == nil ? .delete : .update, entity: entity,
                        oldValues: values(change.old), newValues: values(change.new),
                        changedRelationships: entity.changed(references, from: change.old, to: change.new)))
            }
        }
    }
}

extension Entity {
    /// The relationships among `references` that differ in two records of an object.
    fileprivate func changed(
        _ references: [EntityLinks.Reference], from old: [UInt8]?, to new: [UInt8]?
    ) throws -> [String] {
        guard let new, !references.isEmpty else { return [] }
        func places(_ record: [UInt8]) throws -> [[Value]] {
            let view = try RecordView(record.span.bytes, of: self)
            return try references.map {
                [try view.value(at: $0.slot, as: .integer), try view.value(at: $0.position, as: .data)]
            }
        }
        let after = try places(new)
        let before = try old.map(places)
        return references.indices.filter { index in
            before.map { $0[index] != after[index] } ?? !after[index][0].isNull
        }.map { references[$0].relationship }
    }
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
            case .inserted, .returned: .insert
            case .updated: .update
            case .deleted: .delete
            }
    }
}
