internal import FetchIndexPlatform
internal import FetchIndexValues

/// An entity that is being decoded.
struct StoredEntity {
    let name: String
    var superentity: String?
    var isAbstract = false
    var isJoin = false
    private var relationships: [StoredRelationship] = []
    private var slots: [SlotDescription] = []
    private var uniqueLists: [[Int]] = []
    private var indexKeys: [[IndexKey]] = []
    private var declarations: [Declaration] = []
    private var passes = 0
    private var permanentName: String?
    private var formerNames: [String] = []

    init(_ reader: inout ByteReader) throws {
        name = try reader.text()
        for _ in 0..<(try reader.count()) {
            let attribute = try reader.text()
            guard let type = ValueType(rawValue: try reader.uint8()) else {
                throw ModelError.corrupted("the model has an unknown type")
            }
            let flags = try reader.uint8()
            var slot = SlotDescription(
                AttributeDescription(attribute, type, isOptional: flags & 1 != 0, isUnique: flags & 2 != 0),
                role: SlotRole(flags: flags))
            slot.isRemoved = flags & 4 != 0
            slots.append(slot)
        }
    }

    private func readSlot(_ reader: inout ByteReader) throws -> Int {
        let slot = Int(clamping: try reader.varint())
        guard slots.indices.contains(slot) else {
            throw ModelError.corrupted("the model refers to an unknown attribute of \(name)")
        }
        return slot
    }

    mutating func readUniqueList(_ reader: inout ByteReader) throws {
        var list: [Int] = []
        for _ in 0..<(try reader.count()) { list.append(try readSlot(&reader)) }
        uniqueLists.append(list)
    }

    mutating func readIndex(_ reader: inout ByteReader) throws {
        var keys: [IndexKey] = []
        for _ in 0..<(try reader.count()) {
            let slot = try readSlot(&reader)
            keys.append(IndexKey(slot: slot, isDescending: try reader.uint8() != 0))
        }
        guard !keys.isEmpty, !keys.contains(where: { slots[$0.slot].isRemoved }),
            Set(keys.map(\.slot)).count == keys.count, !indexKeys.contains(keys)
        else { throw ModelError.corrupted("an index of \(name) has wrong attributes") }
        indexKeys.append(keys)
    }

    mutating func readDerivation(_ reader: inout ByteReader) throws {
        let slot = try readSlot(&reader)
        let attribute = slots[slot].attribute
        guard !slots[slot].isRemoved, attribute.derivation == nil, attribute.defaultValue.isNull else {
            throw ModelError.corrupted("the attribute \(name).\(attribute.name) cannot be derived")
        }
        slots[slot].attribute = attribute.derived(by: try reader.text())
    }

    mutating func readRelationship(_ reader: inout ByteReader, entities: Int) throws {
        let (name, destination, inverse) = (try reader.text(), try reader.text(), try reader.text())
        let flags = try reader.uint8()
        guard let rule = DeleteRule(rawValue: try reader.uint8()) else {
            throw ModelError.corrupted("the model has an unknown delete rule")
        }
        let (least, greatest) = (Int(clamping: try reader.varint()), Int(clamping: try reader.varint()))
        let description =
            flags & 1 != 0
            ? RelationshipDescription(
                name, toMany: destination, inverse: inverse, ordered: flags & 2 != 0, deleteRule: rule, minCount: least,
                maxCount: greatest)
            : RelationshipDescription(
                name, toOne: destination, inverse: flags & 16 != 0 ? inverse : nil, isOptional: flags & 4 != 0,
                deleteRule: rule)
        let permanentName = try reader.text()
        var formerNames: [String] = []
        for _ in 0..<(try reader.count()) { formerNames.append(try reader.text()) }
        let storage: StoredRelationship.Storage
        switch try reader.uint8() {
        case 0:
            let (slot, position) = (try readSlot(&reader), try readSlot(&reader))
            guard slots[slot].role == .reference, slots[position].role == .position else {
                throw ModelError.corrupted("the relationship \(self.name).\(name) has no slots of its own")
            }
            storage = .reference(slot: slot, position: position)
        case 1: storage = .inverse
        case 2:
            let number = try Model.entityNumber(&reader, of: entities)
            storage = .join(entity: number, side: try reader.varint() == 0 ? 0 : 1)
        default: throw ModelError.corrupted("the model has a relationship of an unknown kind")
        }
        var relationship = StoredRelationship(description, permanentName: permanentName, storage)
        relationship.formerNames = formerNames
        relationship.isRemoved = flags & 8 != 0
        relationships.append(relationship)
    }

    mutating func readHistory(_ reader: inout ByteReader) throws {
        passes = Int(clamping: try reader.varint())
        for _ in 0..<(try reader.count()) {
            let checksum = try reader.uint32()
            var slots: [Int] = []
            for _ in 0..<(try reader.count()) { slots.append(try readSlot(&reader)) }
            declarations.append(Declaration(checksum: checksum, slots: slots))
        }
        for _ in 0..<(try reader.count()) {
            let slot = try readSlot(&reader)
            slots[slot].permanentName = try reader.text()
            for _ in 0..<(try reader.count()) { slots[slot].formerNames.append(try reader.text()) }
            let range = try reader.range(try reader.count())
            if range.isEmpty { continue }
            let attribute = slots[slot].attribute
            guard let (value, length) = OrderKey.first(in: reader.bytes.extracting(range)), length == range.count,
                value.type == attribute.type
            else { throw ModelError.corrupted("the default value of \(name).\(attribute.name) cannot be read") }
            slots[slot].attribute = attribute.with(defaultValue: value)
        }
    }

    mutating func readNames(_ reader: inout ByteReader) throws {
        let permanent = try reader.text()
        permanentName = permanent == name ? nil : permanent
        for _ in 0..<(try reader.count()) { formerNames.append(try reader.text()) }
    }

    var entity: Entity {
        Entity(
            name, slots: slots, uniqueLists: uniqueLists, indexKeys: indexKeys, relationships: relationships,
            superentity: superentity, isAbstract: isAbstract, isJoin: isJoin,
            stored: Entity.Stored(
                declarations: declarations, passes: passes, permanentName: permanentName, formerNames: formerNames))
    }
}
