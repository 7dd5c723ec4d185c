package import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexRecords

/// The store that gave the object numbers in a row. Numbers without a store's identifier count as this store's numbers.
package enum NumberGiver: Hashable {
    case own
    case other(UUID)
}

/// The object numbers and the related objects of a file's row.
package struct RowLinks {
    /// The object number that the row gets or has in this store; nil if the key decides, or a new object gets the next
    /// free number.
    package var number: UInt64?
    /// The number by which other rows of the file name this row.
    package var fileNumber: UInt64?
    package var giver: NumberGiver
    package var related: [RelatedObject]

    package init(giver: NumberGiver = .own, related: [RelatedObject]) { (self.giver, self.related) = (giver, related) }
}

/// Decides which object numbers in a file are valid in this store: the numbers that were given by this store, or by a
/// store with which it shares numbers. A store that has never had objects adopts the numbers of the first file, if it's
/// imported without a key. Numbers of any other store name no objects here.
package struct NumberOwner {
    /// Whether a key decides which object a row is.
    package let isKeyed: Bool
    private let own: UUID?
    private let origin: NumbersOrigin?
    private let originals: [NumbersOrigin]
    /// The originals whose new numbers are free here, because this copy has allocated no numbers of its own.
    private let followed: Set<UUID>
    /// The entities that have had only objects with numbers of the origin, so that the origin's new numbers are free
    /// here; all entities if the store has no origin.
    private let following: Set<Int>
    /// Whether the store has never had objects, so that it adopts the numbers of the first file.
    private let isNew: Bool
    /// The number of each entity's next object when the import began.
    private let ends: [UInt64]
    private var last: (text: String, giver: NumberGiver)?
    /// The giver of all numbers in the file, if the import has no key.
    private var only: NumberGiver?

    /// Reads the facts about numbers in a writer's open transaction, or in the newest state of the store. Throws
    /// `StoreError`.
    package init(for writer: BatchWriter, isKeyed: Bool) throws {
        let snapshot = try withPublicErrors { try writer.writer ?? writer.store.snapshot() }
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

    /// Returns the giver that an identifier names; nil if the text isn't an identifier.
    package mutating func giver(_ text: String) -> NumberGiver? {
        if let last, last.text == text { return last.giver }
        guard let store = UUID(uuidString: text) else { return nil }
        let giver = store == own ? NumberGiver.own : .other(store)
        last = (text, giver)
        return giver
    }

    /// Whether a giver's number may name an object here, or is free for a new object.
    package func isKnown(_ number: UInt64, of entity: Int, by giver: NumberGiver) -> Bool {
        guard case .other(let store) = giver else { return true }
        if originals.contains(where: { $0.store == store && $0.shares(number, of: entity) }) { return true }
        if followed.contains(store) { return true }
        if let origin, origin.store == store { return following.contains(entity) || origin.shares(number, of: entity) }
        return isNew && !isKeyed
    }

    /// Whether a giver's number may name an object that the store had before the import. An import with a key gives its
    /// new objects other numbers than the file, so a number of the file doesn't name one of them.
    package func wasStored(_ number: UInt64, of entity: Int, by giver: NumberGiver) -> Bool {
        number < ends[entity] && isKnown(number, of: entity, by: giver)
    }

    /// Notes the giver of a row's numbers in an import without a key. Returns false if earlier rows have another giver:
    /// if both were imported, different objects could get the same number.
    package mutating func isOnly(_ giver: NumberGiver) -> Bool {
        if only == nil { only = giver }
        return only == giver
    }

    /// The store whose numbers the new objects of an entity get; nil if this store allocates their numbers.
    package func source(of entity: Int) -> UUID? {
        guard !isKeyed, case .other(let store)? = only else { return nil }
        if followed.contains(store) { return store }
        guard isNew || origin?.store == store else { return nil }
        return following.contains(entity) ? store : nil
    }
}

extension StoreReader {
    /// Whether the store has had only objects with numbers of the origin. Looks only at the entities that are exported
    /// with object numbers.
    func followsWholly(_ origin: NumbersOrigin) throws -> Bool {
        try model.entities.indices.allSatisfy { number in
            let entity = model.entities[number]
            return try entity.isDropped || entity.isJoin || entity.links == nil || follows(origin, number)
        }
    }
}
