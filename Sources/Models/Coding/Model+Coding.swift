internal import FetchIndexPlatform
internal import FetchIndexValues

// The stored model:
//
//     entities varint x ( name text | slots varint x ( name text | type 1 | flags 1 ) )
//         | nothing, or lists varint x ( entity varint | slots varint x slot varint )      unique together
//         | nothing, or histories (since version 5)
//         | nothing, or (since version 6) indexes varint x ( entity varint | keys varint x ( slot varint | descending 1 ) )
//             | derivations varint x ( entity varint | slot varint | expression text )
//         | nothing, or (since version 7) subentities varint x ( entity varint | superentity varint, from 1; 0: none | flags 1 )
//         | nothing, or (since version 9) relationships varint x ( entity varint | relationship )
//             | joins varint x entity varint
//         | nothing, or (since version 14) names varint x ( entity varint | permanent name text
//             | former names varint x text )
//             | requests varint x ( name text | entity text | predicate text | limit varint )
//         | checksum 4
//     flags       1 optional, 2 unique, 4 removed, 8 a reference, 16 a position; of a subentity 1 abstract; a list without slots was
//                 removed
//     relationship
//                 name text | destination text | inverse text | flags 1 | delete rule 1 | least, greatest: varints
//                     | permanent name text | former names varint x text
//                     | 0: reference | slot, position: varints   or 1: inverse   or 2: join | entity, side: varints
//                 flags: 1 to-many, 2 ordered, 4 optional, 8 removed, 16 has an inverse
//     histories   entities varint x ( passes varint | declarations varint x ( checksum 4 | slots varint x slot varint )
//                     | slots varint x ( slot varint | permanent name text | former names varint x text
//                         | length varint, default value as OrderKey ) )

extension [UInt8] {
    fileprivate mutating func appendCount(_ number: Int) { appendVarint(UInt64(number)) }

    fileprivate mutating func appendList<Item>(_ list: [Item], _ append: (inout [UInt8], Item) -> Void) {
        appendCount(list.count)
        for element in list { append(&self, element) }
    }

    /// Appends a list of properties of entities, each after its entity's number.
    fileprivate mutating func appendNumbered<Item>(
        _ list: [(entity: Int, Item)], _ append: (inout [UInt8], Item) -> Void
    ) {
        appendList(list) { bytes, numbered in
            bytes.appendCount(numbered.entity)
            append(&bytes, numbered.1)
        }
    }

    fileprivate mutating func appendNumbers(_ numbers: [Int]) { appendList(numbers) { $0.appendCount($1) } }
    private mutating func appendTexts(_ texts: [String]) { appendList(texts) { $0.appendText($1) } }

    fileprivate mutating func appendEntity(_ entity: Entity) {
        appendText(entity.name)
        appendList(entity.slots) { $0.appendAttribute($1.attribute, isRemoved: $1.isRemoved, $1.role) }
    }

    mutating func appendAttribute(
        _ attribute: AttributeDescription, isRemoved: Bool = false, _ role: SlotRole = .attribute
    ) {
        appendText(attribute.name)
        append(attribute.type.rawValue)
        append((attribute.isOptional ? 1 : 0) | (attribute.isUnique ? 2 : 0) | (isRemoved ? 4 : 0) | role.flag)
    }

    /// Appends the properties of a relationship, except `renamedFrom`, and whether the relationship is removed.
    mutating func appendRelationship(_ relationship: RelationshipDescription, isRemoved: Bool = false) {
        for text in [relationship.name, relationship.destination, relationship.inverse ?? ""] { appendText(text) }
        let flags: [(Bool, UInt8)] = [
            (relationship.isToMany, 1), (relationship.isOrdered, 2), (relationship.isOptional, 4), (isRemoved, 8),
            (relationship.inverse != nil, 16),
        ]
        append(flags.reduce(0) { $0 | ($1.0 ? $1.1 : 0) })
        append(relationship.deleteRule.rawValue)
        appendCount(relationship.minCount)
        appendCount(relationship.maxCount)
    }

    fileprivate mutating func appendStored(_ relationship: StoredRelationship) {
        appendRelationship(relationship.description, isRemoved: relationship.isRemoved)
        appendText(relationship.permanentName)
        appendTexts(relationship.formerNames)
        switch relationship.storage {
        case .reference(let slot, let position): appendStorage(0, [slot, position])
        case .inverse: appendStorage(1, [])
        case .join(let entity, let side): appendStorage(2, [entity, side])
        }
    }

    private mutating func appendStorage(_ kind: UInt8, _ numbers: [Int]) {
        append(kind)
        for number in numbers { appendCount(number) }
    }

    fileprivate mutating func appendHistory(_ entity: Entity) {
        appendCount(entity.passes)
        appendList(entity.declarations) { bytes, declaration in
            bytes.appendNumber(declaration.checksum)
            bytes.appendNumbers(declaration.slots)
        }
        appendList(entity.slots.enumerated().filter { $1.hasHistory }) { bytes, numbered in
            let (number, slot) = numbered
            bytes.appendCount(number)
            bytes.appendText(slot.permanentName)
            bytes.appendTexts(slot.formerNames)
            var value: [UInt8] = []
            if !slot.attribute.defaultValue.isNull { OrderKey.append(slot.attribute.defaultValue, to: &value) }
            bytes.appendCount(value.count)
            bytes.append(contentsOf: value)
        }
    }

    fileprivate mutating func appendNames(of entity: Entity) {
        appendText(entity.permanentName)
        appendTexts(entity.stored.formerNames)
    }

    fileprivate mutating func append(_ request: NamedRequest) {
        for text in [request.name, request.entity, request.predicate] { appendText(text) }
        appendCount(request.fetchLimit)
    }
}

extension SlotRole {
    fileprivate var flag: UInt8 {
        switch self {
        case .attribute: 0
        case .reference: 8
        case .position: 16
        }
    }

    init(flags: UInt8) {
        self =
            flags & SlotRole.reference.flag != 0
            ? .reference : flags & SlotRole.position.flag != 0 ? .position : .attribute
    }
}

extension SlotDescription {
    fileprivate var hasHistory: Bool {
        permanentName != attribute.name || !formerNames.isEmpty || !attribute.defaultValue.isNull
    }
}

extension Entity {
    fileprivate var hasOtherNames: Bool { permanentName != name || !stored.formerNames.isEmpty }
    fileprivate var hasHistory: Bool { passes > 0 || !declarations.isEmpty || slots.contains(where: \.hasHistory) }
}

extension Model {
    /// A part of the stored model. It's left out if it and all parts after it are empty.
    private struct Part {
        let isEmpty: Bool
        private(set) var bytes: [UInt8] = []

        init(isEmpty: Bool, _ append: (inout [UInt8]) -> Void) {
            self.isEmpty = isEmpty
            append(&bytes)
        }
    }

    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendList(entities) { $0.appendEntity($1) }
        var parts = [uniqueLists, histories, indexes, lineages, relationships, names]
        while parts.last?.isEmpty == true { parts.removeLast() }
        for part in parts { bytes += part.bytes }
        bytes.appendChecksum()
        return bytes
    }

    /// A property that several entities have, each time with its entity's number.
    private func numbered<Element>(_ elements: (Entity) -> [Element]) -> [(entity: Int, Element)] {
        entities.enumerated().flatMap { number, entity in elements(entity).map { (number, $0) } }
    }

    private var uniqueLists: Part {
        let lists = numbered(\.uniqueLists)
        return Part(isEmpty: lists.isEmpty) { $0.appendNumbered(lists) { $0.appendNumbers($1) } }
    }

    private var histories: Part {
        Part(isEmpty: !entities.contains(where: \.hasHistory)) { $0.appendList(entities) { $0.appendHistory($1) } }
    }

    private var indexes: Part {
        let indexes = numbered(\.indexKeys)
        let derivations = numbered { entity in
            entity.slots.enumerated().compactMap { slot, description in
                description.attribute.derivation.map { (slot: slot, expression: $0) }
            }
        }
        return Part(isEmpty: indexes.isEmpty && derivations.isEmpty) { bytes in
            bytes.appendNumbered(indexes) { bytes, keys in
                bytes.appendList(keys) { bytes, key in
                    bytes.appendCount(key.slot)
                    bytes.append(key.isDescending ? 1 : 0)
                }
            }
            bytes.appendNumbered(derivations) { bytes, derivation in
                bytes.appendCount(derivation.slot)
                bytes.appendText(derivation.expression)
            }
        }
    }

    private var lineages: Part {
        let lineages = entities.enumerated().filter { $1.superentity != nil || $1.isAbstract }
        return Part(isEmpty: lineages.isEmpty) {
            $0.appendList(lineages) { bytes, numbered in
                let (number, entity) = numbered
                bytes.appendCount(number)
                bytes.appendCount((superentities(of: number).first ?? -1) + 1)
                bytes.append(entity.isAbstract ? 1 : 0)
            }
        }
    }

    private var relationships: Part {
        let relationships = numbered(\.storedRelationships)
        return Part(isEmpty: relationships.isEmpty) {
            $0.appendNumbered(relationships) { $0.appendStored($1) }
            $0.appendNumbers(entities.indices.filter { entities[$0].isJoin })
        }
    }

    private var names: Part {
        let named = numbered { $0.hasOtherNames ? [$0] : [] }
        return Part(isEmpty: named.isEmpty && requests.isEmpty) {
            $0.appendNumbered(named) { $0.appendNames(of: $1) }
            $0.appendList(requests) { $0.append($1) }
        }
    }
}
