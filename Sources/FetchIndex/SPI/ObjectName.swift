package import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords
package import FetchIndexValues

/// The description of a changed object for people and programs: its first unique value, and its values before and after
/// the change.
///
/// For printed changes, which name objects in another process or after their deletion. Users look up the ids of a change
/// in a context, and have ``PersistentContainer/forEachChange(ofEntity:since:until:_:)`` for old values.
package struct ObjectName {
    package let entity: Entity
    /// The value of the entity's first unique attribute; nil if the entity has no unique attribute.
    package var key: Value?
    /// The values before the change, in the order of the entity's attributes; nil for a new object, or if the log is too short. If values weren't
    /// asked for, only deleted objects have them.
    package var oldValues: [Value]?
    /// The values after the change, likewise; nil for a deleted object, or if values weren't asked for.
    package var newValues: [Value]?
}

/// Finds the descriptions of changed objects between two states of the store. Where the objects' former records are in the log
/// is found once, in O(k) for k changes, and kept: see `PastRecords`.
package final class ObjectNames {
    private let reader: StoreReader
    /// The commit before the change; nil if it isn't known.
    private let commit: UInt64?
    private let withValues: Bool
    /// The commit after the change.
    private let last: UInt64
    /// The former records of each entity's objects, or the error that reading the log threw.
    private var past: [Span: Result<PastRecords, any Error>] = [:]

    /// `last` is the commit after the change, by default that of the reader.
    init(in reader: StoreReader, since commit: UInt64?, until last: UInt64? = nil, withValues: Bool) throws {
        (self.reader, self.withValues, self.last) = (reader, withValues, last ?? reader.commit)
        // Records of commits before a migration have other types.
        let first = try reader.lastRewrite()
        self.commit = commit.flatMap { reader.logReaches(back: $0) && $0 >= first ? $0 : nil }
        isLogTooShort = commit != nil && self.commit == nil
    }

    /// Whether the log doesn't reach back to the commit, or has records of another model.
    private let isLogTooShort: Bool

    /// The descriptions of objects: their current key and values, and their values at the commit. Without values, only
    /// deleted objects have values. If the log doesn't reach back to the commit, deleted objects are left out, and other
    /// objects have no old values. Without a commit, deleted objects are left out, and old values equal the new ones.
    /// O(log n) for each object.
    package func names(of ids: some Sequence<ObjectID>) throws -> [ObjectID: ObjectName] {
        try withPublicErrors {
            var names: [ObjectID: ObjectName] = [:]
            for id in ids { names[id] = try name(of: id) }
            return names
        }
    }

    private func name(of id: ObjectID) throws -> ObjectName? {
        let entities = reader.model.entities
        guard entities.indices.contains(id.key.entity) else { return nil }
        let entity = entities[id.key.entity]
        var name: ObjectName?
        try withRecord(id.key) { record in
            name = ObjectName(entity: entity, key: try entity.key(of: record))
            if withValues { name?.newValues = try entity.values(of: record) }
        }
        if name != nil && !withValues { return name }
        if !isLogTooShort, let values = name?.newValues { name?.oldValues = values }
        guard let commit else { return name }
        let past = try past(of: id.key.entity, commit, last)
        if past.isInserted(id.key.number) {
            name?.oldValues = nil
            return name
        }
        _ = try past.withRecord(of: id.key.number) { old in
            if name == nil { name = ObjectName(entity: entity, key: try entity.key(of: old)) }
            name?.oldValues = try entity.values(of: old)
        }
        return name
    }

    /// Calls the body with the record of an object after the change, if it exists then.
    private func withRecord(_ object: RecordKey, _ body: (RawSpan) throws -> Void) throws {
        if last < reader.commit {
            let later = try past(of: object.entity, last, reader.commit)
            if try later.isInserted(object.number) || later.withRecord(of: object.number, body) { return }
        }
        _ = try reader.record(object, body)
    }

    private struct Span: Hashable {
        let entity: Int
        let first: UInt64
        let last: UInt64
    }

    private func past(of entity: Int, _ first: UInt64, _ last: UInt64) throws -> PastRecords {
        let span = Span(entity: entity, first: first, last: last)
        if let known = past[span] { return try known.get() }
        let read = Result { try PastRecords(of: entity, after: first, through: last, in: reader) }
        past[span] = read
        return try read.get()
    }
}

extension PersistentContainer {
    /// Finds the descriptions of objects in the newest state, without the values of existing objects.
    package func names(since commit: UInt64?) throws -> ObjectNames {
        try withPublicErrors { try ObjectNames(in: store.snapshot(), since: commit, withValues: false) }
    }
}

extension FetchedOrder {
    /// The commit after which the changes in the outcome were made. It has no meaning if the order was built.
    var changedSince: UInt64? { opened.start }

    /// Finds the descriptions of objects in the order's state. Old values are of `commit`; if it's nil, of
    /// `changedSince`.
    package func names(since commit: UInt64? = nil, withValues: Bool) throws -> ObjectNames {
        try withPublicErrors {
            try ObjectNames(in: reader, since: commit ?? changedSince, until: shown.commit, withValues: withValues)
        }
    }

    /// Whether a name is that of a Boolean attribute, or a key path to a Boolean attribute.
    package func isBoolean(_ name: String) -> Bool { (try? column(name).type) == .boolean }
}

extension ObjectChange {
    /// The value of the first unique attribute, after the change or before a deletion; nil if the entity has none.
    package var key: Value? {
        entity.attributes.firstIndex(where: \.isUnique).flatMap { (newValues ?? oldValues)?[$0] }
    }
}

extension Entity {
    /// The value of the first unique attribute; nil if the entity has none.
    fileprivate func key(of record: RawSpan) throws -> Value? {
        guard let index = attributes.firstIndex(where: \.isUnique) else { return nil }
        return try RecordView(record, of: self).value(at: attributeSlots[index], as: attributes[index].type)
    }
}
