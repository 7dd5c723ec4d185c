package import FetchIndexValues

/// A kind of object: a name, attributes and relationships. Comparisons of entities ignore the order of these.
public struct Entity: Sendable {
    // All declared properties are behind one reference, because entities are copied in hot paths. Add properties there,
    // not here.
    private var definition: Definition
    /// A record with the values of slots that older records lack; empty if these values are null. Set when a store is
    /// read.
    package var missingValues: [UInt8] = []

    /// The properties of a stored entity besides its declaration.
    package struct Stored: Sendable {
        /// The declarations that the store has followed for the entity; the one that was followed last is at the end.
        package var declarations: [Declaration] = []
        /// The number of migration passes that have changed the records.
        package var passes = 0
        /// The derived attributes; nil if the entity has none. Set when a store is read.
        package var derivations: Derivations?
        /// The name that caches know the entity by, if it isn't its current one: the first name that the store had for it.
        package var permanentName: String?
        /// The names that the entity had before.
        package var formerNames: [String] = []
        /// The owners of inherited unique constraints, by the constraints' numbers. Set when a store is read.
        package var keyOwners: [Int: UniqueConstraint.Owner] = [:]
        /// The links of the entity's objects; nil if no relationship involves the entity. Set when a store is read.
        package var links: EntityLinks?
    }

    /// The properties besides the declaration. Setting them makes a new definition.
    package var stored: Stored {
        get { definition.stored }
        set { definition = Definition(definition, stored: newValue) }
    }
    package var declarations: [Declaration] { definition.stored.declarations }
    package var passes: Int { definition.stored.passes }
    package var derivations: Derivations? { definition.stored.derivations }
    package var links: EntityLinks? { definition.stored.links }

    public var name: String { definition.name }
    /// The entity's name in an older model: adding the entity to a store that has one of that name renames the stored one.
    public var renamedFrom: String? { definition.lineage.renamedFrom }
    /// The name that stays the same if the entity is renamed.
    package var permanentName: String { definition.stored.permanentName ?? name }
    /// The name of the entity that this one specializes. This entity inherits the attributes of its superentity, and
    /// its objects are also objects of the superentity.
    public var superentity: String? { definition.lineage.superentity }
    /// Whether only the subentities have objects, not the entity itself.
    public var isAbstract: Bool { definition.lineage.isAbstract }
    /// The attributes. In a stored model, they are in the order of their slots: an attribute that is added, converted
    /// or computed again comes after those that the entity had before.
    public var attributes: [AttributeDescription] { definition.attributes }
    /// Lists of attributes and to-one relationships whose combined values are unique; objects with a null among them
    /// are exempt. The combined values are refused if their unique key would exceed 511 bytes. In a model, a list of a
    /// single attribute that the entity doesn't inherit makes that attribute unique, and isn't kept as a list.
    public var uniqueAttributes: [[String]] { definition.uniqueAttributes }
    /// The relationships. In a model, they include inherited ones.
    public var relationships: [RelationshipDescription] { definition.relationships }
    /// Orders that every writer maintains.
    public var indexes: [Index] { definition.indexes }
    /// The names of attributes and relationships that the store is to remove.
    public var removedAttributes: [String] { definition.removed.attributes }
    /// Indexes that the store is to remove.
    public var removedIndexes: [Index] { definition.removed.indexes }

    /// All slots of records, including those of removed attributes and of relationships.
    package var slots: [SlotDescription] { definition.slots }
    /// All relationships, including removed ones.
    package var storedRelationships: [StoredRelationship] { definition.storedRelationships }
    /// The slots of references and positions of relationships, without removed ones.
    package var relationshipSlots: [Int] { definition.relationshipSlots }
    /// Whether the entity is a join entity: its objects are the links of a many-to-many relationship.
    package var isJoin: Bool { definition.lineage.isJoin }
    package var hasDerivations: Bool { definition.hasDerivations }
    /// The slot of each attribute.
    package var attributeSlots: [Int] { definition.attributeSlots }
    /// The rule for the values of each attribute.
    package var valueRules: [ValueRule] { definition.valueRules }
    /// The slots of each list of unique attributes; empty for a removed list.
    package var uniqueLists: [[Int]] { definition.uniqueLists }
    /// The keys of each index.
    package var indexKeys: [[IndexKey]] { definition.indexKeys }
    /// The constraints of unique attributes, then those of lists. A declared entity's lists with relationships are left
    /// out, because these relationships have no slots yet.
    package var uniqueConstraints: [UniqueConstraint] { definition.uniqueConstraints }

    /// Makes an entity. `unique` lists the names of attributes and to-one relationships that are unique together, like
    /// `[["isbn", "edition"]]`, or alone. `indexes` may be over to-one relationships, too; a repeated index counts
    /// once. `removed` and `removedIndexes` are attributes (or relationships) and indexes of older models that the
    /// store is to remove. `superentity` names another entity of the model, from which this one inherits attributes,
    /// relationships and unique attributes; it can't change once the entity is stored. `renamedFrom` is the entity's name
    /// in an older model.
    public init(
        _ name: String, _ attributes: [AttributeDescription], relationships: [RelationshipDescription] = [],
        unique: [[String]] = [], indexes: [Index] = [], removed: [String] = [], removedIndexes: [Index] = [],
        superentity: String? = nil, isAbstract: Bool = false, renamedFrom: String? = nil
    ) {
        let slots = Dictionary(attributes.indices.map { (attributes[$0].name, $0) }) { first, _ in first }
        // Whether a subentity's list of one attribute makes the attribute unique depends on the superentity, so
        // `inheriting` decides it.
        let alone = superentity == nil ? Set(unique.filter { $0.count == 1 }.map { $0[0] }) : []
        let attributes = attributes.map { alone.contains($0.name) ? $0.with(isUnique: true) : $0 }
        let unique = unique.filter { $0.count != 1 || !alone.contains($0[0]) || slots[$0[0]] == nil }
            .withoutRepetitions { Set($0) }
        let indexes = indexes.withoutRepetitions { $0 }
        // The store gives relationships their slots, so a relationship's name has the slot -1 here. `validate` finds
        // unknown names.
        let lists = unique.map { names in names.map { slots[$0] ?? -1 } }
        let keys = indexes.map { index in
            index.keys.map { IndexKey(slot: slots[$0.attribute] ?? -1, isDescending: $0.isDescending) }
        }
        definition = Definition(
            name, slots: attributes.map { SlotDescription($0) }, uniqueLists: lists, unique, indexKeys: keys, indexes,
            // The store decides later where the links are; `.inverse` is a placeholder.
            relationships: relationships.map { StoredRelationship($0, .inverse) },
            removed: (removed, removedIndexes), lineage: (superentity, isAbstract, false, renamedFrom))
    }

    package init(
        _ name: String, slots: [SlotDescription], uniqueLists: [[Int]], indexKeys: [[IndexKey]] = [],
        relationships: [StoredRelationship] = [], superentity: String? = nil, isAbstract: Bool = false,
        isJoin: Bool = false, stored: Stored = Stored()
    ) {
        let names = uniqueLists.filter { !$0.isEmpty }.map { $0.map { slots[$0].attribute.name } }
        let indexes = indexKeys.map { keys in
            Index(keys: keys.map { Index.Key(slots[$0.slot].attribute.name, isDescending: $0.isDescending) })
        }
        definition = Definition(
            name, slots: slots, uniqueLists: uniqueLists, names, indexKeys: indexKeys, indexes,
            relationships: relationships, removed: ([], []), lineage: (superentity, isAbstract, isJoin, nil),
            stored: stored)
    }

    private final class Definition: Sendable {
        let name: String
        let attributes: [AttributeDescription]
        let uniqueAttributes: [[String]]
        let removed: (attributes: [String], indexes: [Index])
        let lineage: (superentity: String?, isAbstract: Bool, isJoin: Bool, renamedFrom: String?)
        let stored: Stored
        let relationships: [RelationshipDescription]
        let storedRelationships: [StoredRelationship]
        let relationshipSlots: [Int]
        let relationshipsByName: [String: Int]
        let hasDerivations: Bool
        let slots: [SlotDescription]
        let attributeSlots: [Int]
        let valueRules: [ValueRule]
        let slotTypes: [ValueType]
        let uniqueLists: [[Int]]
        let indexKeys: [[IndexKey]]
        let indexes: [Index]
        let uniqueConstraints: [UniqueConstraint]
        let slotsByName: [String: Int]

        init(
            _ name: String, slots: [SlotDescription], uniqueLists: [[Int]], _ uniqueNames: [[String]],
            indexKeys: [[IndexKey]], _ indexes: [Index], relationships: [StoredRelationship],
            removed: (attributes: [String], indexes: [Index]),
            lineage: (superentity: String?, isAbstract: Bool, isJoin: Bool, renamedFrom: String?),
            stored: Stored = Stored()
        ) {
            self.name = name
            self.slots = slots
            self.uniqueLists = uniqueLists
            uniqueAttributes = uniqueNames
            self.indexKeys = indexKeys
            self.indexes = indexes
            self.removed = removed
            self.lineage = lineage
            self.stored = stored
            hasDerivations = slots.contains { $0.attribute.derivation != nil }
            storedRelationships = relationships
            self.relationships = relationships.filter { !$0.isRemoved }.map(\.description)
            relationshipSlots = slots.indices.filter { !slots[$0].isRemoved && slots[$0].role != .attribute }
            let live = slots.indices.filter { !slots[$0].isRemoved && slots[$0].role == .attribute }
            attributeSlots = live
            attributes = live.map { slots[$0].attribute }
            valueRules = live.map { ValueRule(slot: $0, slots[$0].attribute) }
            slotTypes = slots.map(\.attribute.type)
            slotsByName = Self.slotsByName(slots, live)
            var constraints =
                live.filter { slots[$0].attribute.isUnique }.map { UniqueConstraint(number: $0, slots: [$0]) }
                + uniqueLists.enumerated().filter { !$1.isEmpty && !$1.contains(-1) }.map { index, slots in
                    UniqueConstraint(number: UniqueConstraint.firstCompound + index, slots: slots)
                }
            for index in constraints.indices {
                constraints[index].owner = stored.keyOwners[constraints[index].number]
            }
            uniqueConstraints = constraints
            relationshipsByName = Self.relationshipsByName(relationships, besides: slotsByName)
        }

        private static func slotsByName(_ slots: [SlotDescription], _ live: [Int]) -> [String: Int] {
            var byName: [String: Int] = [:]
            for slot in live { for former in slots[slot].formerNames { byName[former] = slot } }
            for slot in live.reversed() { byName[slots[slot].attribute.name] = slot }
            return byName
        }

        /// A former name of a relationship is ignored if an attribute that isn't removed has or had that name, or if
        /// another relationship has it.
        private static func relationshipsByName(
            _ relationships: [StoredRelationship], besides slots: [String: Int]
        ) -> [String: Int] {
            var byName: [String: Int] = [:]
            let live = relationships.enumerated().filter { !$1.isRemoved }
            for (index, relationship) in live {
                for former in relationship.formerNames where slots[former] == nil { byName[former] = index }
            }
            for (index, relationship) in live { byName[relationship.description.name] = index }
            return byName
        }

        convenience init(_ other: Definition, stored: Stored) {
            self.init(
                other.name, slots: other.slots, uniqueLists: other.uniqueLists, other.uniqueAttributes,
                indexKeys: other.indexKeys, other.indexes, relationships: other.storedRelationships,
                removed: other.removed, lineage: other.lineage, stored: stored)
        }
    }

    /// The attribute of a slot, which may be removed.
    package func attribute(at slot: Int) -> AttributeDescription { definition.slots[slot].attribute }

    /// The type of a slot's attribute, without copying the attribute.
    package func type(at slot: Int) -> ValueType { definition.slotTypes[slot] }

    /// The slot of an attribute, by its name or a former name; nil if no attribute has it.
    package func slot(of attribute: String) -> Int? { definition.slotsByName[attribute] }

    package func requireSlot(of attribute: String) throws -> Int {
        guard let slot = definition.slotsByName[attribute] else { throw unknownAttribute(attribute) }
        return slot
    }

    /// The error for a name that isn't found.
    package func unknownAttribute(_ attribute: String) -> ModelError {
        .unknownAttribute(entity: name, attribute: attribute, near: nearName(to: attribute))
    }

    /// The name of an attribute or a relationship that resembles a misspelled name, if any.
    package func nearName(to name: String) -> NearName {
        NearName((attributes.map(\.name) + relationships.map(\.name)).nearest(to: name))
    }

    /// A relationship by its name or a former name; nil if no relationship has it.
    package func relationship(named name: String?) -> StoredRelationship? {
        name.flatMap { definition.relationshipsByName[$0] }.map { definition.storedRelationships[$0] }
    }

    /// The placeholder for a dropped entity.
    package static let dropped = Entity("", [])

    /// Whether an attribute or a relationship has this name, or had it before.
    package func has(_ name: String) -> Bool { slot(of: name) != nil || relationship(named: name) != nil }

    /// Whether the entity was dropped.
    package var isDropped: Bool { name.isEmpty && slots.isEmpty }

    /// Whether the current name of an attribute differs from its permanent name, or an attribute has former names.
    package var hasRenames: Bool {
        attributeSlots.contains {
            slots[$0].permanentName != slots[$0].attribute.name || !slots[$0].formerNames.isEmpty
        }
    }

    /// The slot that an index or a list of unique attributes has for a name, which may be a former one: the slot of an
    /// attribute, or of a to-one relationship that the entity's records hold. Nil for other names.
    package func keySlot(of name: String) -> Int? {
        if let slot = slot(of: name) { return slot }
        guard case .reference(let slot, _) = relationship(named: name)?.storage else { return nil }
        return slot
    }

    /// The lists in `uniqueAttributes` that have only attributes, for a declaration without relationships.
    package var uniqueListsOfAttributes: [[String]] {
        uniqueAttributes.filter { $0.allSatisfy { slot(of: $0) != nil } }
    }

    /// The indexes that have only attributes, for a declaration without relationships.
    package var indexesOfAttributes: [Index] {
        indexes.filter { $0.keys.allSatisfy { slot(of: $0.attribute) != nil } }
    }
}

extension Array {
    /// The array with only the first of several elements that have the same key.
    fileprivate func withoutRepetitions<Key: Hashable>(_ key: (Element) -> Key) -> [Element] {
        var seen: Set<Key> = []
        return filter { seen.insert(key($0)).inserted }
    }
}
