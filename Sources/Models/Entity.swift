internal import Bytes
package import Values

/// What no two objects have in common.
package struct UniqueConstraint: Hashable, Sendable {
    /// In keys: the slot of a unique attribute; from `firstCompound` on, attributes that are unique together.
    package let number: Int
    package let slots: [Int]

    /// More than the slot of any attribute.
    package static let firstCompound = 1 << 15
}

/// What the value of an attribute must be, without references: for loops over values.
package struct ValueRule: Sendable {
    package let slot: Int
    package let type: ValueType
    package let isRequired: Bool

    init(slot: Int, _ attribute: AttributeDescription) {
        self.slot = slot
        type = attribute.type
        isRequired = !attribute.isOptional && attribute.derivation == nil
    }
}

/// What a program declared of an entity.
package struct Declaration: Hashable, Sendable {
    package let checksum: UInt32
    /// The slots of its attributes, by their names.
    package let slots: [Int]
}

/// A kind of object: a name and its attributes. The order of the attributes has no meaning.
public struct Entity: Sendable {
    // No more fields: entities are copied in hot paths.
    private var definition: Definition
    /// A record with the values of slots that older records lack; empty when these are null. Set when a store is read.
    package var missingValues: [UInt8] = []

    /// What a store knows of an entity besides its declaration.
    package struct Stored: Sendable {
        /// The declarations of the entity that the store has followed, oldest first.
        package var declarations: [Declaration] = []
        /// How many passes over the records changed them.
        package var passes = 0
        /// Computes derived values; nil where there are none. Set when a store is read.
        package var completer: (any RecordCompleter)?
    }

    /// Setting it costs O(number of slots).
    package var stored: Stored {
        get { definition.stored }
        set { definition = Definition(definition, stored: newValue) }
    }
    package var declarations: [Declaration] { definition.stored.declarations }
    package var passes: Int { definition.stored.passes }
    package var completer: (any RecordCompleter)? { definition.stored.completer }

    public var name: String { definition.name }
    /// In a stored model by the numbers of their slots, which is the order in which they were added.
    public var attributes: [AttributeDescription] { definition.attributes }
    /// Lists of attributes whose combined values are unique among the objects that have no null among them. Together, the
    /// keys of the values have at most 500 bytes.
    public var uniqueAttributes: [[String]] { definition.uniqueAttributes }
    /// Orders that every writer keeps.
    public var indexes: [Index] { definition.indexes }
    /// Names of attributes that the store is to remove.
    public var removedAttributes: [String] { definition.removed.attributes }
    /// Indexes that the store is to remove.
    public var removedIndexes: [Index] { definition.removed.indexes }

    /// All slots of records, those of removed attributes included.
    package var slots: [SlotDescription] { definition.slots }
    package var hasDerivations: Bool { definition.hasDerivations }
    /// The slot of each attribute.
    package var attributeSlots: [Int] { definition.attributeSlots }
    /// What the value of each attribute must be.
    package var valueRules: [ValueRule] { definition.valueRules }
    /// The slots of the attributes of each list in `uniqueAttributes`, with lists that were removed: these are empty.
    package var uniqueLists: [[Int]] { definition.uniqueLists }
    /// The keys of each index.
    package var indexKeys: [[IndexKey]] { definition.indexKeys }
    /// The unique attributes, then the attributes that are unique together.
    package var uniqueConstraints: [UniqueConstraint] { definition.uniqueConstraints }

    /// `unique` names attributes that are unique together, as `[["isbn", "edition"]]`; `removed` and `removedIndexes` are
    /// attributes and indexes of older models that the store is to remove.
    public init(
        _ name: String, _ attributes: [AttributeDescription], unique: [[String]] = [], indexes: [Index] = [],
        removed: [String] = [], removedIndexes: [Index] = []
    ) {
        let slots = Dictionary(attributes.indices.map { (attributes[$0].name, $0) }) { first, _ in first }
        // An unknown name is found by `validate`.
        let lists = unique.map { names in names.map { slots[$0] ?? -1 } }
        let keys = indexes.map { index in
            index.keys.map { IndexKey(slot: slots[$0.attribute] ?? -1, isDescending: $0.isDescending) }
        }
        definition = Definition(
            name, slots: attributes.map { SlotDescription($0) }, uniqueLists: lists, unique, indexKeys: keys, indexes,
            removed: (removed, removedIndexes))
    }

    package init(
        _ name: String, slots: [SlotDescription], uniqueLists: [[Int]], indexKeys: [[IndexKey]] = [],
        stored: Stored = Stored()
    ) {
        let names = uniqueLists.filter { !$0.isEmpty }.map { $0.map { slots[$0].attribute.name } }
        let indexes = indexKeys.map { keys in
            Index(keys: keys.map { Index.Key(slots[$0.slot].attribute.name, isDescending: $0.isDescending) })
        }
        definition = Definition(
            name, slots: slots, uniqueLists: uniqueLists, names, indexKeys: indexKeys, indexes, removed: ([], []),
            stored: stored)
    }

    private final class Definition: Sendable {
        let name: String
        let attributes: [AttributeDescription]
        let uniqueAttributes: [[String]]
        let removed: (attributes: [String], indexes: [Index])
        let stored: Stored
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
            indexKeys: [[IndexKey]], _ indexes: [Index], removed: (attributes: [String], indexes: [Index]),
            stored: Stored = Stored()
        ) {
            self.name = name
            self.slots = slots
            self.uniqueLists = uniqueLists
            uniqueAttributes = uniqueNames
            self.indexKeys = indexKeys
            self.indexes = indexes
            self.removed = removed
            self.stored = stored
            hasDerivations = slots.contains { $0.attribute.derivation != nil }
            let live = slots.indices.filter { !slots[$0].isRemoved }
            attributeSlots = live
            attributes = live.map { slots[$0].attribute }
            valueRules = live.map { ValueRule(slot: $0, slots[$0].attribute) }
            slotTypes = slots.map(\.attribute.type)
            var byName: [String: Int] = [:]
            for slot in live { for former in slots[slot].formerNames { byName[former] = slot } }
            for slot in live.reversed() { byName[slots[slot].attribute.name] = slot }
            slotsByName = byName
            uniqueConstraints =
                live.filter { slots[$0].attribute.isUnique }.map { UniqueConstraint(number: $0, slots: [$0]) }
                + uniqueLists.enumerated().filter { !$1.isEmpty }.map { index, slots in
                    UniqueConstraint(number: UniqueConstraint.firstCompound + index, slots: slots)
                }
        }

        convenience init(_ other: Definition, stored: Stored) {
            self.init(
                other.name, slots: other.slots, uniqueLists: other.uniqueLists, other.uniqueAttributes,
                indexKeys: other.indexKeys, other.indexes, removed: other.removed, stored: stored)
        }
    }

    /// The attribute of a slot, also of one that was removed.
    package func attribute(at slot: Int) -> AttributeDescription { definition.slots[slot].attribute }

    /// Its type, without a copy of the attribute.
    package func type(at slot: Int) -> ValueType { definition.slotTypes[slot] }

    /// The slot of an attribute, by its name or by one that it had; nil when there is none.
    package func slot(of attribute: String) -> Int? { definition.slotsByName[attribute] }

    package func requireSlot(of attribute: String) throws -> Int {
        guard let slot = definition.slotsByName[attribute] else {
            throw StoreError.unknownAttribute(entity: name, attribute: attribute)
        }
        return slot
    }

    /// The placeholder of an entity that was dropped: numbers of entities are never reused.
    package static let dropped = Entity("", [])

    /// Whether the entity was dropped.
    package var isDropped: Bool { name.isEmpty && slots.isEmpty }

    /// Whether attributes have, or had, other names than their permanent ones.
    package var hasRenames: Bool {
        attributeSlots.contains {
            slots[$0].permanentName != slots[$0].attribute.name || !slots[$0].formerNames.isEmpty
        }
    }

    /// The unique attribute of a slot; nil when it is not unique by itself.
    package func uniqueConstraint(ofSlot slot: Int) -> UniqueConstraint? {
        uniqueConstraints.first { $0.slots == [slot] }
    }

    /// The names of a constraint's attributes, as messages say them.
    package func name(of constraint: UniqueConstraint) -> String {
        constraint.slots.map { attribute(at: $0).name }.joined(separator: ", ")
    }

    /// Whether objects that were read with this entity can be used with a newer one of the store: what they read is there
    /// still, and no pass changed it.
    package func isReadable(with newer: Entity) -> Bool {
        guard newer.slots.count >= slots.count, newer.passes == passes else { return false }
        let isSame = zip(slots, newer.slots).allSatisfy { old, new in
            old.attribute.type == new.attribute.type && old.isRemoved == new.isRemoved
                && (old.isRemoved || old.attribute.isOptional == new.attribute.isOptional)
        }
        // New objects would lack what has become required.
        return isSame
            && newer.slots[slots.count...].allSatisfy {
                $0.isRemoved || $0.attribute.isOptional || !$0.attribute.defaultValue.isNull
            }
    }

    /// Whether records and unique keys of the two follow the same rules.
    package func hasSameRules(as other: Entity) -> Bool {
        Set(attributes) == Set(other.attributes) && uniqueConstraints == other.uniqueConstraints
    }

    /// Throws `StoreError.modelMismatch` when this stored entity lacks what a program declares. Where the store has followed
    /// the declaration, each attribute must still be the one that it was then.
    package func requireAttributes(of declared: Entity) throws {
        let checksum = declared.declaration
        let known = declarations.first { $0.checksum == checksum }
        for (index, attribute) in declared.attributes.sorted(by: { $0.name < $1.name }).enumerated() {
            func mismatch(_ reason: String) -> StoreError {
                .modelMismatch(entity: name, "its attribute \(attribute.name) " + reason)
            }
            guard let slot = slot(of: attribute.name) else { throw mismatch("was removed by a newer model") }
            let stored = self.attribute(at: slot)
            if stored.type != attribute.type {
                throw mismatch("is \(stored.type.name) in a newer model, and \(attribute.type.name) in this one")
            }
            // A derived attribute gets another slot when it is computed anew.
            if let known, known.slots[index] != slot, stored.derivation == nil {
                throw mismatch("was replaced by a newer model, by one of the same name")
            }
            if stored.isOptional && !attribute.isOptional {
                throw mismatch("may be null in a newer model, and not in this one")
            }
        }
    }

    /// A checksum of the declaration, whatever the order of the attributes.
    package var declaration: UInt32 {
        var bytes: [UInt8] = []
        bytes.appendText(name)
        for attribute in attributes.sorted(by: { $0.name < $1.name }) { bytes.appendAttribute(attribute) }
        for list in uniqueAttributes.map({ $0.sorted().joined(separator: "\0") }).sorted() { bytes.appendText(list) }
        for attribute in attributes.sorted(by: { $0.name < $1.name }) {
            if let derivation = attribute.derivation { bytes.appendText("\(attribute.name) = \(derivation)") }
        }
        for name in removedAttributes.sorted() { bytes.appendText("-" + name) }
        for index in indexes.map(\.description).sorted() { bytes.appendText("index " + index) }
        for index in removedIndexes.map(\.description).sorted() { bytes.appendText("-index " + index) }
        return bytes.span.bytes.checksum
    }
}

/// By name, attributes, unique attributes and indexes, whatever their order.
extension Entity: Hashable {
    public static func == (left: Entity, right: Entity) -> Bool {
        left.name == right.name && Set(left.attributes) == Set(right.attributes)
            && Set(left.uniqueAttributes.map(Set.init)) == Set(right.uniqueAttributes.map(Set.init))
            && Set(left.indexes) == Set(right.indexes)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
    }
}
