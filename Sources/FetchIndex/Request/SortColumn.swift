internal import Bytes
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

    /// Keeps, of the selected records of a block, at least those whose value does not come after the one that a key begins with: in
    /// one loop, without making their keys. Of numbers and texts that are compared by their bytes; keeps all where it is of
    /// something else.
    func keepRecords(of block: inout RecordBlock, within key: [UInt8]) throws {
        guard expression == nil, collator == nil, PathTable.path(ofSlot: slot) == nil else { return }
        var bound = key
        if isDescending { OrderKey.reverse(&bound, from: 0) }
        guard let length = OrderKey.lengthOfFirst(in: bound.span.bytes) else { return }
        let isDescending = isDescending
        switch type {
        case .integer:
            guard let bits = OrderKey.orderBits(in: bound.span.bytes.extracting(first: length)) else { return }
            let bound = OrderKey.integer(bits)
            try block.keep(
                slot: slot,
                integer: { value in
                    guard let value else { return !isDescending }
                    return isDescending ? value >= bound : value <= bound
                })
        case .double, .date:
            guard let bound = OrderKey.orderBits(in: bound.span.bytes.extracting(first: length)) else { return }
            try block.keep(
                slot: slot,
                double: { value in
                    guard let value else { return !isDescending }
                    let bits = OrderKey.orderBits(of: value)
                    return isDescending ? bits >= bound : bits <= bound
                })
        case .string:
            guard let bound = OrderKey.textBytes(in: bound.span.bytes) else { return }
            try block.keep(slot: slot, nulls: !isDescending) { value in
                let order = value.compare(bound.span.bytes)
                return isDescending ? order >= 0 : order <= 0
            }
        default: return
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
