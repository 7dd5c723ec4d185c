package import FetchIndexModels

/// Records and their links, for following key paths: a state of the store, or one with changes that the store doesn't
/// have.
package protocol RecordState: AnyObject {
    /// Calls the body with the bytes of an object's record. Returns false if the object doesn't exist.
    func record(_ object: RecordKey, _ body: (RawSpan) throws -> Void) throws -> Bool
    /// The objects whose records refer to `target` by a relationship. Objects with unchanged records are in the order
    /// of their links; objects with changed records follow, by key.
    func holders(of name: EntityLinks.Name, to target: RecordKey) throws -> [RecordKey]
    /// The number of objects whose records refer to `target` by a relationship.
    func holderCount(of name: EntityLinks.Name, to target: RecordKey) throws -> Int
    /// The references and relationships of an entity; nil if it has none.
    func links(ofEntity entity: Int) -> EntityLinks?
    /// A number that no other state object of this process has; nil if the state may change, or has no number.
    var identity: UInt64? { get }
}

extension StoreReader: RecordState {
    package func holders(of name: EntityLinks.Name, to target: RecordKey) throws -> [RecordKey] {
        var holders: [RecordKey] = []
        try forEachLink(name, to: target) { holder, _ in
            holders.append(holder)
            return true
        }
        return holders
    }

    package func holderCount(of name: EntityLinks.Name, to target: RecordKey) throws -> Int {
        try linkCount(name, to: target)
    }

    package func links(ofEntity entity: Int) -> EntityLinks? {
        model.entities.indices.contains(entity) ? model.entities[entity].links : nil
    }
}

/// A state in which some objects have other records than in the base state.
package final class ChangedState: RecordState {
    private struct Side: Hashable {
        let name: EntityLinks.Name
        let target: RecordKey
    }

    private let base: any RecordState
    /// The changed records, by object; nil for an object that doesn't exist in this state.
    private let records: [RecordKey: [UInt8]?]
    /// The objects with changed records that refer to a target, in ascending order. Computed when first used.
    private lazy var added: [Side: [RecordKey]] = findReferences()

    package init(_ records: [RecordKey: [UInt8]?], over base: any RecordState) {
        (self.records, self.base) = (records, base)
    }

    /// Reconstructs the state before changes from the state after them.
    package convenience init(before changes: [RecordChange], _ new: any RecordState) {
        var records: [RecordKey: [UInt8]?] = [:]
        for change in changes {
            if change.object != change.oldObject { records.updateValue(nil, forKey: change.object) }
            records.updateValue(change.old, forKey: change.oldObject)
        }
        self.init(records, over: new)
    }

    package func links(ofEntity entity: Int) -> EntityLinks? { base.links(ofEntity: entity) }

    package var identity: UInt64? { nil }

    package func record(_ object: RecordKey, _ body: (RawSpan) throws -> Void) throws -> Bool {
        guard let changed = records[object] else { return try base.record(object, body) }
        guard let record = changed else { return false }
        try body(record.span.bytes)
        return true
    }

    package func holders(of name: EntityLinks.Name, to target: RecordKey) throws -> [RecordKey] {
        let stored = target.isTemporary ? [] : try base.holders(of: name, to: target)
        if records.isEmpty { return stored }
        return stored.filter { records.index(forKey: $0) == nil } + (added[Side(name: name, target: target)] ?? [])
    }

    package func holderCount(of name: EntityLinks.Name, to target: RecordKey) throws -> Int {
        records.isEmpty ? try base.holderCount(of: name, to: target) : try holders(of: name, to: target).count
    }

    private func findReferences() -> [Side: [RecordKey]] {
        var found: [Side: [RecordKey]] = [:]
        for (object, changed) in records {
            guard let record = changed, let references = base.links(ofEntity: object.entity)?.references,
                let view = try? RecordView(record.span.bytes)
            else { continue }
            for reference in references {
                guard let number = try? view.integer(at: reference.slot) else { continue }
                let target = RecordKey(reference: number)
                found[Side(name: reference.name, target: target), default: []].append(object)
            }
        }
        return found.mapValues { $0.sorted() }
    }
}
