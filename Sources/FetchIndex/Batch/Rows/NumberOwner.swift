internal import FetchIndexModels
internal import FetchIndexRecords
#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Which store gave the numbers of a row. Numbers without a store's name are this store's.
package enum NumberGiver: Hashable {
    case own
    case other(UUID)
}

/// What a row of a file says of numbers and of related objects.
package struct RowLinks {
    /// Of the stored object; nil: the key decides, or it is a new one.
    package var number: UInt64?
    /// By which other rows of the file name this one.
    package var fileNumber: UInt64?
    package var giver: NumberGiver
    package var related: [RelatedObject]

    package init(giver: NumberGiver = .own, related: [RelatedObject]) { (self.giver, self.related) = (giver, related) }
}

/// Whose objects the numbers of a file are: this store's, those of a store with which it shares numbers, or another one's, which are
/// never taken for these.
package struct NumberOwner {
    /// Whether a key decides which object a row is.
    package let isKeyed: Bool
    private let own: UUID?
    private let origin: NumbersOrigin?
    private let originals: [NumbersOrigin]
    /// The originals whose new numbers are free here: this copy has given none of its own to any entity.
    private let followed: Set<UUID>
    /// The entities that have had no other objects than the origin's, whose new numbers are free here.
    private let following: Set<Int>
    /// Whether the store has had no objects, so that it takes over the numbers of the first file.
    private let isNew: Bool
    /// By entity, the number of the next object when the import began.
    private let ends: [UInt64]
    private var last: (text: String, giver: NumberGiver)?
    /// Without a key, the giver of all numbers in the file.
    private var only: NumberGiver?

    /// In the newest state. O(entities). Throws `StoreError`.
    package init(in container: PersistentContainer, isKeyed: Bool) throws {
        let snapshot = try withPublicErrors { try container.store.snapshot() }
        self.isKeyed = isKeyed
        own = snapshot.store.identifier
        origin = try snapshot.numbersOrigin()
        originals = try snapshot.originals()
        followed = origin == nil ? try Set(originals.filter { try snapshot.followsWholly($0) }.map(\.store)) : []
        var following: Set<Int> = []
        var ends: [UInt64] = []
        var isNew = origin == nil
        for number in snapshot.model.entities.indices {
            ends.append(try snapshot.entityState(number).nextObject)
            if ends[number] > 1 { isNew = false }
            if try origin.map({ try snapshot.follows($0, number) }) ?? true { following.insert(number) }
        }
        (self.following, self.isNew, self.ends) = (following, isNew, ends)
    }

    /// The store with an identifier. Nil for a text that is none.
    package mutating func giver(_ text: String) -> NumberGiver? {
        if let last, last.text == text { return last.giver }
        guard let store = UUID(uuidString: text) else { return nil }
        let giver = store == own ? NumberGiver.own : .other(store)
        last = (text, giver)
        return giver
    }

    /// Whether a number is that of an object here, or free for one.
    package func isKnown(_ number: UInt64, of entity: Int, by giver: NumberGiver) -> Bool {
        guard case .other(let store) = giver else { return true }
        if originals.contains(where: { $0.store == store && $0.shares(number, of: entity) }) { return true }
        if followed.contains(store) { return true }
        if let origin, origin.store == store { return following.contains(entity) || origin.shares(number, of: entity) }
        return isNew && !isKeyed
    }

    /// Whether a number may be that of an object which the store had before the import. With a key, the objects that the import makes have
    /// other numbers than the file says.
    package func wasStored(_ number: UInt64, of entity: Int, by giver: NumberGiver) -> Bool {
        number < ends[entity] && isKnown(number, of: entity, by: giver)
    }

    /// Notes whose numbers a row without a key has. False when rows before it have those of another store: new objects of both would
    /// get the same ones.
    package mutating func isOnly(_ giver: NumberGiver) -> Bool {
        if only == nil { only = giver }
        return only == giver
    }

    /// The store that new objects of an entity come from, with their numbers; nil: this one.
    package func source(of entity: Int) -> UUID? {
        guard !isKeyed, case .other(let store)? = only else { return nil }
        if followed.contains(store) { return store }
        guard isNew || origin?.store == store else { return nil }
        return following.contains(entity) ? store : nil
    }
}

extension Snapshot {
    /// Whether all entities whose objects have numbers in files have had no other objects than those of the origin.
    func followsWholly(_ origin: NumbersOrigin) throws -> Bool {
        try model.entities.indices.allSatisfy { number in
            let entity = model.entities[number]
            return try entity.isDropped || entity.isJoin || entity.links == nil || follows(origin, number)
        }
    }
}
