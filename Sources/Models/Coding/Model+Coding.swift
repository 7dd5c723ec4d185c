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
    fileprivate mutating func appendEntity(_ entity: Entity) {
        appendText(entity.name)
        appendVarint(UInt64(entity.slots.count))
        for slot in entity.slots { appendAttribute(slot.attribute, isRemoved: slot.isRemoved, slot.role) }
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
        appendVarint(UInt64(relationship.minCount))
        appendVarint(UInt64(relationship.maxCount))
    }

    fileprivate mutating func appendStored(_ relationship: StoredRelationship) {
        appendRelationship(relationship.description, isRemoved: relationship.isRemoved)
        appendText(relationship.permanentName)
        appendVarint(UInt64(relationship.formerNames.count))
        for name in relationship.formerNames { appendText(name) }
        switch relationship.storage {
        case .reference(let slot, let position): appendStorage(0, [slot, position])
        case .inverse: appendStorage(1, [])
        case .join(let entity, let side): appendStorage(2, [entity, side])
        }
    }

    private mutating func appendStorage(_ kind: UInt8, _ numbers: [Int]) {
        append(kind)
        for number in numbers { appendVarint(UInt64(number)) }
    }

    fileprivate mutating func appendHistory(_ entity: Entity) {
        appendVarint(UInt64(entity.passes))
        appendVarint(UInt64(entity.declarations.count))
        for declaration in entity.declarations {
            appendNumber(declaration.checksum)
            appendVarint(UInt64(declaration.slots.count))
            for slot in declaration.slots { appendVarint(UInt64(slot)) }
        }
        let slots = entity.slots.enumerated().filter { $1.hasHistory }
        appendVarint(UInt64(slots.count))
        for (number, slot) in slots {
            appendVarint(UInt64(number))
            appendText(slot.permanentName)
            appendVarint(UInt64(slot.formerNames.count))
            for name in slot.formerNames { appendText(name) }
            var value: [UInt8] = []
            if !slot.attribute.defaultValue.isNull { OrderKey.append(slot.attribute.defaultValue, to: &value) }
            appendVarint(UInt64(value.count))
            append(contentsOf: value)
        }
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

extension [UInt8] {
    fileprivate mutating func appendNames(of entity: Entity) {
        appendText(entity.permanentName)
        appendVarint(UInt64(entity.stored.formerNames.count))
        for name in entity.stored.formerNames { appendText(name) }
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ request: NamedRequest) {
        for text in [request.name, request.entity, request.predicate] { appendText(text) }
        appendVarint(UInt64(request.fetchLimit))
    }
}

extension NamedRequest {
    fileprivate init(_ reader: inout ByteReader) throws {
        self.init(
            try reader.text(), entity: try reader.text(), predicate: try reader.text(),
            fetchLimit: Int(clamping: try reader.varint()))
    }
}

extension Entity {
    fileprivate var hasOtherNames: Bool { permanentName != name || !stored.formerNames.isEmpty }
    fileprivate var hasHistory: Bool { passes > 0 || !declarations.isEmpty || slots.contains(where: \.hasHistory) }
}

extension Model {
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendVarint(UInt64(entities.count))
        for entity in entities { bytes.appendEntity(entity) }
        let lists = entities.enumerated().flatMap { number, entity in entity.uniqueLists.map { (number, $0) } }
        let hasHistory = entities.contains(where: \.hasHistory)
        let indexes = entities.enumerated().flatMap { number, entity in entity.indexKeys.map { (number, $0) } }
        let derivations = entities.enumerated().flatMap { number, entity in
            entity.slots.enumerated().compactMap { slot, description in
                description.attribute.derivation.map { (number, slot, $0) }
            }
        }
        let lineages = entities.enumerated().filter { $1.superentity != nil || $1.isAbstract }
        let relationships = entities.enumerated().flatMap { number, entity in
            entity.storedRelationships.map { (number, $0) }
        }
        let named = entities.enumerated().filter { $1.hasOtherNames }
        let hasRelationships = !relationships.isEmpty || !named.isEmpty || !requests.isEmpty
        let hasMore = !indexes.isEmpty || !derivations.isEmpty || !lineages.isEmpty || hasRelationships
        if !lists.isEmpty || hasHistory || hasMore {
            bytes.appendVarint(UInt64(lists.count))
            for (entity, slots) in lists {
                bytes.appendVarint(UInt64(entity))
                bytes.appendVarint(UInt64(slots.count))
                for slot in slots { bytes.appendVarint(UInt64(slot)) }
            }
        }
        if hasHistory || hasMore {
            bytes.appendVarint(UInt64(entities.count))
            for entity in entities { bytes.appendHistory(entity) }
        }
        if hasMore {
            bytes.appendVarint(UInt64(indexes.count))
            for (entity, keys) in indexes {
                bytes.appendVarint(UInt64(entity))
                bytes.appendVarint(UInt64(keys.count))
                for key in keys {
                    bytes.appendVarint(UInt64(key.slot))
                    bytes.append(key.isDescending ? 1 : 0)
                }
            }
            bytes.appendVarint(UInt64(derivations.count))
            for (entity, slot, expression) in derivations {
                bytes.appendVarint(UInt64(entity))
                bytes.appendVarint(UInt64(slot))
                bytes.appendText(expression)
            }
        }
        if !lineages.isEmpty || hasRelationships {
            bytes.appendVarint(UInt64(lineages.count))
            for (number, entity) in lineages {
                bytes.appendVarint(UInt64(number))
                bytes.appendVarint(UInt64((superentities(of: number).first ?? -1) + 1))
                bytes.append(entity.isAbstract ? 1 : 0)
            }
        }
        if hasRelationships {
            bytes.appendVarint(UInt64(relationships.count))
            for (number, relationship) in relationships {
                bytes.appendVarint(UInt64(number))
                bytes.appendStored(relationship)
            }
            let joins = entities.indices.filter { entities[$0].isJoin }
            bytes.appendVarint(UInt64(joins.count))
            for number in joins { bytes.appendVarint(UInt64(number)) }
        }
        if !named.isEmpty || !requests.isEmpty {
            bytes.appendVarint(UInt64(named.count))
            for (number, entity) in named {
                bytes.appendVarint(UInt64(number))
                bytes.appendNames(of: entity)
            }
            bytes.appendVarint(UInt64(requests.count))
            for request in requests { bytes.append(request) }
        }
        bytes.appendChecksum()
        return bytes
    }

    package init(decoding bytes: RawSpan) throws {
        var reader = try ByteReader(checked: bytes, subject: { "the model" }, damage: ModelError.corrupted)
        var parts: [StoredEntity] = []
        var requests: [NamedRequest] = []
        for _ in 0..<(try reader.count()) { parts.append(try StoredEntity(&reader)) }
        if !reader.isAtEnd {
            for _ in 0..<(try reader.count()) {
                let number = try Self.entityNumber(&reader, of: parts.count)
                try parts[number].readUniqueList(&reader)
            }
        }
        if !reader.isAtEnd {
            guard try reader.count() == parts.count else {
                throw ModelError.corrupted("the model has another number of histories than of entities")
            }
            for number in parts.indices { try parts[number].readHistory(&reader) }
        }
        if !reader.isAtEnd {
            for _ in 0..<(try reader.count()) {
                let number = try Self.entityNumber(&reader, of: parts.count)
                try parts[number].readIndex(&reader)
            }
            for _ in 0..<(try reader.count()) {
                let number = try Self.entityNumber(&reader, of: parts.count)
                try parts[number].readDerivation(&reader)
            }
        }
        if !reader.isAtEnd {
            for _ in 0..<(try reader.count()) {
                let number = try Self.entityNumber(&reader, of: parts.count)
                let parent = Int(clamping: try reader.varint()) - 1
                guard parent < parts.count, parent != number else {
                    throw ModelError.corrupted(
                        "\(parts[number].name) has itself or an unknown entity as its superentity")
                }
                parts[number].superentity = parent < 0 ? nil : parts[parent].name
                parts[number].isAbstract = try reader.uint8() != 0
            }
        }
        if !reader.isAtEnd {
            for _ in 0..<(try reader.count()) {
                let number = try Self.entityNumber(&reader, of: parts.count)
                try parts[number].readRelationship(&reader, entities: parts.count)
            }
            for _ in 0..<(try reader.count()) {
                parts[try Self.entityNumber(&reader, of: parts.count)].isJoin = true
            }
        }
        if !reader.isAtEnd {
            for _ in 0..<(try reader.count()) {
                let number = try Self.entityNumber(&reader, of: parts.count)
                try parts[number].readNames(&reader)
            }
            for _ in 0..<(try reader.count()) { requests.append(try NamedRequest(&reader)) }
        }
        guard reader.isAtEnd else { throw ModelError.corrupted("the model has more bytes than this version can read") }
        self.init(entities: parts.map(\.entity), requests: requests)
    }

    static func entityNumber(_ reader: inout ByteReader, of count: Int) throws -> Int {
        let number = Int(clamping: try reader.varint())
        guard number < count else { throw ModelError.corrupted("the model refers to an unknown entity") }
        return number
    }
}
