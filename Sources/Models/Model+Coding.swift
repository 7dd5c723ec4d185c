internal import Bytes
internal import Values

// The stored model:
//
//     entities varint x ( name text | attributes varint x ( name text | type 1 | flags 1 ) )
//         | nothing, or lists varint x ( entity varint | slots varint x slot varint )      unique together
//     flags: 1 optional, 2 unique

extension [UInt8] {
    mutating func appendEntity(_ entity: Entity) {
        appendText(entity.name)
        appendVarint(UInt64(entity.attributes.count))
        for attribute in entity.attributes {
            appendText(attribute.name)
            append(attribute.type.rawValue)
            append((attribute.isOptional ? 1 : 0) | (attribute.isUnique ? 2 : 0))
        }
    }
}

extension Model {
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendVarint(UInt64(entities.count))
        for entity in entities { bytes.appendEntity(entity) }
        let lists = entities.enumerated().flatMap { number, entity in
            entity.uniqueConstraints.filter { $0.slots.count > 1 }.map { (number, $0.slots) }
        }
        if !lists.isEmpty {
            bytes.appendVarint(UInt64(lists.count))
            for (entity, slots) in lists {
                bytes.appendVarint(UInt64(entity))
                bytes.appendVarint(UInt64(slots.count))
                for slot in slots { bytes.appendVarint(UInt64(slot)) }
            }
        }
        bytes.appendChecksum()
        return bytes
    }

    package init(decoding bytes: RawSpan) throws {
        var reader = try ByteReader(checked: bytes, "the model")
        var entities: [Entity] = []
        for _ in 0..<(try reader.count()) {
            let name = try reader.text()
            var attributes: [AttributeDescription] = []
            for _ in 0..<(try reader.count()) {
                let attribute = try reader.text()
                guard let type = ValueType(rawValue: try reader.uint8()) else {
                    throw StoreError.corrupted("the model has an unknown type")
                }
                let flags = try reader.uint8()
                attributes.append(
                    AttributeDescription(attribute, type, isOptional: flags & 1 != 0, isUnique: flags & 2 != 0))
            }
            entities.append(Entity(name, attributes))
        }
        if !reader.isAtEnd { try Self.readUniqueAttributes(&reader, &entities) }
        self.init(entities: entities)
    }

    private static func readUniqueAttributes(_ reader: inout ByteReader, _ entities: inout [Entity]) throws {
        for _ in 0..<(try reader.count()) {
            let number = Int(clamping: try reader.varint())
            guard entities.indices.contains(number) else {
                throw StoreError.corrupted("the model refers to an unknown entity")
            }
            let entity = entities[number]
            var names: [String] = []
            for _ in 0..<(try reader.count()) {
                let slot = Int(clamping: try reader.varint())
                guard entity.attributes.indices.contains(slot) else {
                    throw StoreError.corrupted("the model refers to an unknown attribute of \(entity.name)")
                }
                names.append(entity.attributes[slot].name)
            }
            entities[number] = Entity(entity.name, entity.attributes, unique: entity.uniqueAttributes + [names])
        }
    }
}
