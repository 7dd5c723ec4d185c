internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexValues

/// Makes the bytes of a sort key in a row's key. It's a class: if it were a struct, each of its references would be
/// retained for each row.
final class SortColumn {
    let slot: Int
    let type: ValueType
    let isDescending: Bool
    let collator: TextCollator?
    let keys = PathKeys()
    /// The expression of a sort key that aggregates related objects; nil for an attribute.
    let expression: CompiledExpression?
    private let isMean: Bool

    /// Makes the column of an attribute, or of an expression.
    init(
        _ key: SortKey<ManagedObject>, slot: Int, _ type: ValueType, of entity: Entity,
        _ expression: CompiledExpression? = nil
    ) throws {
        self.expression = expression
        (self.slot, self.type) = (slot, type)
        isDescending = key.direction == .descending
        isMean = expression != nil && key.attribute.pathNames.contains("@avg")
        collator = try TextCollator(key.textOrder)
        if collator != nil && type != .string {
            throw RequestError.wrongType(
                "the sort key \(key) needs a text, but \(entity.name).\(key.attribute) is \(type.nameWithArticle)")
        }
    }

    /// The versions that affect the bytes: of ICU's data, and of rules that have changed since they were introduced.
    var versions: [String] {
        [collator?.version, isMean && type == .decimal ? FetchPredicate.decimalRules : nil].compactMap { $0 }
    }

    /// Appends the ascending bytes of the expression's value for a row.
    func append(_ expression: CompiledExpression, of row: borrowing RelatedRow, to key: inout [UInt8]) throws {
        append(try expression.value(of: row, as: type) ?? .null, to: &key)
    }

    /// Appends the ascending bytes of a value of the column's type.
    func append(_ value: Value, to key: inout [UInt8]) {
        if let collator, case .string(let text) = value {
            let bytes = Array(text.utf8)
            collator.withSortKey(of: bytes.span.bytes) { OrderKey.appendBytes($0, as: .string, to: &key) }
        } else {
            OrderKey.append(value, to: &key)
        }
    }

    /// Deselects a block's records whose values come after the first value in a row key. Works in one loop, without
    /// making keys, for integers, doubles, dates and texts compared by bytes. If the first value is another one, such
    /// as null, keeps all selected records.
    func keepRecords(of block: inout RecordBlock, within key: [UInt8]) throws {
        let isDescending = isDescending
        switch first(of: key) {
        case .integer(let bound):
            try block.keep(
                slot: slot,
                integer: { value in
                    guard let value else { return !isDescending }
                    return isDescending ? value >= bound : value <= bound
                })
        case .double(let bound):
            try block.keep(
                slot: slot,
                double: { value in
                    guard let value else { return !isDescending }
                    let bits = OrderKey.orderBits(of: value)
                    return isDescending ? bits >= bound : bits <= bound
                })
        case .text(let bound):
            try block.keep(slot: slot, nulls: !isDescending) { value in
                let order = value.compare(bound.span.bytes)
                return isDescending ? order >= 0 : order <= 0
            }
        case nil: return
        }
    }

    /// Whether values within bounds may come before or equal the first value in a row key. True for a first value for
    /// which `keepRecords` keeps all records.
    func mayHaveRecords(within key: [UInt8], _ values: RecordBounds) -> Bool {
        guard let first = first(of: key), let values = values[slot] else { return true }
        let bound: Value
        switch first {
        case .integer(let integer): bound = .integer(integer)
        case .double(let bits):
            let number = OrderKey.double(bits)
            bound = type == .date ? Value(secondsSinceReference: number) : .double(number)
        case .text(let bytes): bound = .string(String(decoding: bytes, as: UTF8.self))
        }
        // Null sorts first, or last in descending order.
        if isDescending { return values.mayHave(greaterOrEqual: bound) }
        return values.mayHave(.null) || values.mayHave(lessOrEqual: bound)
    }

    /// Whether the first of the values within bounds comes before the first one within other bounds. Unknown bounds come
    /// first.
    func mayPrecede(_ values: RecordBounds, _ others: RecordBounds) -> Bool {
        guard hasBounds, let others = others[slot] else { return false }
        guard let values = values[slot] else { return true }
        return values.precede(others, isDescending: isDescending)
    }

    /// Whether the bytes contain an integer, a double, a date or a text of the record itself, which can be compared
    /// with bounds.
    var hasBounds: Bool {
        let isOfRecord = expression == nil && collator == nil && PathTable.path(ofSlot: slot) == nil
        return isOfRecord && [.integer, .double, .date, .string].contains(type)
    }

    private enum FirstValue {
        case integer(Int64)
        /// The order bits of a double, or of a date in seconds since 2001.
        case double(UInt64)
        case text([UInt8])
    }

    /// The first value of a row's key; nil for null, and if `hasBounds` is false.
    private func first(of key: [UInt8]) -> FirstValue? {
        guard hasBounds else { return nil }
        var key = key
        if isDescending { OrderKey.reverse(&key, from: 0) }
        guard let length = OrderKey.lengthOfFirst(in: key.span.bytes) else { return nil }
        let value = key.span.bytes.extracting(first: length)
        switch type {
        case .integer: return OrderKey.orderBits(in: value).map { .integer(OrderKey.integer($0)) }
        case .double, .date: return OrderKey.orderBits(in: value).map { .double($0) }
        case .string: return OrderKey.textBytes(in: value).map { .text($0) }
        default: return nil
        }
    }

    /// Appends the ascending bytes of the value in a record's slot.
    func append(_ record: RecordView, slot: Int, to key: inout [UInt8]) throws {
        if let collator, let range = try record.range(of: slot) {
            collator.withSortKey(of: record.bytes(range)) { OrderKey.appendBytes($0, as: .string, to: &key) }
        } else {
            try record.appendOrderKey(of: slot, as: type, to: &key)
        }
    }
}
