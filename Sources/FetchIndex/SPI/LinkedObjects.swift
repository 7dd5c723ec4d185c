internal import FetchIndexModels
internal import FetchIndexRecords

// For warnings of changes of links that aren't printed or written. Users compare the objects of relationships.
extension PersistentContainer {
    /// The number of objects of an entity and its subentities whose links of many-to-many relationships changed between
    /// two commits, and nothing else. These links have records of their own, so that `forEachChange` doesn't pass such
    /// objects. O(k log n) for k changes. Throws like `forEachChange`.
    package func countOfOnlyLinked(ofEntity name: String, from first: UInt64, to last: UInt64) throws -> Int {
        try withPublicErrors {
            try store.snapshot().countOfLinked(ofEntity: name, from: first, to: last) { _ in true }
        }
    }
}

extension BatchPreview {
    /// The number of objects of an entity and its subentities whose links of many-to-many relationships the transaction
    /// changes, without those that it deletes. O(k log n) for k changes. Throws `StoreError`.
    package func countOfLinked(ofEntity name: String) throws -> Int {
        try withPublicErrors {
            try writer.countOfLinked(ofEntity: name, from: commit, to: writer.commit) { $0.new == nil }
        }
    }
}

extension StoreReader {
    /// Counts objects whose links of many-to-many relationships changed between two commits, without those that have
    /// another change that `isLeftOut` says.
    fileprivate func countOfLinked(
        ofEntity name: String, from first: UInt64, to last: UInt64, without isLeftOut: (RecordChange) -> Bool
    ) throws -> Int {
        let members = Set(try model.hierarchy(of: model.number(of: name)))
        var linked: Set<RecordKey> = []
        for (join, sides) in model.joins(of: members) {
            let entity = model.entities[join]
            let slots = (entity.links?.references ?? []).enumerated().filter { sides.contains($0.offset) }
                .map(\.element.slot)
            try netChanges(of: join, from: first, to: last) { change in
                for record in [change.old, change.new].compactMap({ $0 }) {
                    let view = try RecordView(record.span.bytes, of: entity)
                    for slot in slots { if let object = try view.key(at: slot) { linked.insert(object) } }
                }
            }
        }
        linked = linked.filter { members.contains($0.entity) }
        if linked.isEmpty { return 0 }
        for member in members {
            try netChanges(of: member, from: first, to: last) { if isLeftOut($0) { linked.remove($0.object) } }
        }
        return linked.count
    }
}

extension Model {
    /// The join entities of many-to-many relationships of entities, each with the sides that the entities have.
    fileprivate func joins(of members: Set<Int>) -> [Int: Set<Int>] {
        var joins: [Int: Set<Int>] = [:]
        for relationship in members.flatMap({ entities[$0].storedRelationships }) where !relationship.isRemoved {
            if case .join(let join, let side) = relationship.storage { joins[join, default: []].insert(side) }
        }
        return joins
    }
}
