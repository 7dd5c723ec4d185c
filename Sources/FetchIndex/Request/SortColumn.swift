internal import Models
internal import Predicates
internal import Records

/// Computes a sort key's part of a row's key. A class: a struct of references would be retained field by field for each row.
final class SortColumn {
    let slot: Int
    let type: ValueType
    let isDescending: Bool
    let collator: TextCollator?
    let keys = PathKeys()
    /// Of a sort key that computes its value from related objects.
    let expression: CompiledExpression?

    /// Of an attribute of an entity, or what an expression computes of a row.
    init(
        _ key: SortKey<ManagedObject>, slot: Int, _ type: ValueType, of entity: Entity,
        _ expression: CompiledExpression? = nil
    ) throws {
        self.expression = expression
        (self.slot, self.type) = (slot, type)
        isDescending = key.direction == .descending
        collator = try TextCollator(key.textOrder)
        if collator != nil && type != .string {
            throw RequestError.wrongType(
                "the sort key \(key) needs a text, and \(entity.name).\(key.attribute) is \(type.nameWithArticle)")
        }
    }

    /// Appends what the expression computes of a row, ascending.
    func append(_ expression: CompiledExpression, of row: borrowing RelatedRow, to key: inout [UInt8]) throws {
        let value = try expression.value(of: row, as: type) ?? .null
        if let collator, case .string(let text) = value {
            let bytes = Array(text.utf8)
            collator.withSortKey(of: bytes.span.bytes) { OrderKey.appendBytes($0, as: .string, to: &key) }
        } else {
            OrderKey.append(value, to: &key)
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
