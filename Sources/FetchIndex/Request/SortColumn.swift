internal import Models
internal import Records

/// Computes a sort key's part of a row's key.
struct SortColumn {
    let slot: Int
    let type: ValueType
    let isDescending: Bool
    let collator: TextCollator?
    let keys = PathKeys()

    /// Of an attribute of an entity.
    init(_ key: SortKey<ManagedObject>, slot: Int, _ type: ValueType, of entity: Entity) throws {
        (self.slot, self.type) = (slot, type)
        isDescending = key.direction == .descending
        collator = try TextCollator(key.textOrder)
        if collator != nil && type != .string {
            throw RequestError.wrongType(
                "the sort key \(key) needs a text, and \(entity.name).\(key.attribute) is \(type.nameWithArticle)")
        }
    }

    /// Appends the value in a slot of a record, ascending.
    func append(_ record: RecordView, slot: Int, to key: inout [UInt8]) throws {
        if let collator, let range = try record.range(of: slot) {
            collator.withSortKey(of: record.bytes(range)) { OrderKey.appendBytes($0, as: .string, to: &key) }
        } else {
            try record.appendOrderKey(of: slot, as: type, to: &key)
        }
    }
}
