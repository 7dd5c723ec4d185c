internal import Records
internal import Models
internal import Catalogues
internal import FetchIndex

/// Turns rows of a file into records of an entity. Numbers and texts go from bytes to bytes.
struct RowConverter {
    private let file: String
    private let entity: Entity
    private let columns: [String]
    /// The column of each slot; nil for attributes that the file does not have.
    private let columnOfSlot: [Int?]
    /// The slots of attributes that the file does not have.
    let missingSlots: Set<Int>
    private var builder = RecordBuilder()

    init(_ columns: [String], to entity: Entity, file: String) throws {
        self.file = file
        self.entity = entity
        self.columns = columns
        for name in columns { _ = try entity.requireSlot(of: name) }
        let places = Dictionary(columns.enumerated().map { ($1, $0) }) { first, _ in first }
        // A column may have a name that the attribute had.
        var columnOfSlot = [Int?](repeating: nil, count: entity.slots.count)
        for (name, column) in places {
            let slot = try entity.requireSlot(of: name)
            guard columnOfSlot[slot] == nil else {
                throw BadInput(
                    file: file, line: 1, column: column + 1, columnName: name,
                    reason: "another column is the same attribute, \(entity.attribute(at: slot).name)")
            }
            columnOfSlot[slot] = column
        }
        missingSlots = Set(entity.attributeSlots.filter { columnOfSlot[$0] == nil })
        self.columnOfSlot = columnOfSlot
    }

    /// Throws `BadInput` with line, column and reason.
    mutating func append(_ row: FieldRow, to batch: inout RecordBatch) throws {
        guard row.count == columns.count else {
            throw BadInput(file: file, line: row.line, reason: "it has \(row.count) fields, not \(columns.count)")
        }
        builder.begin()
        for (slot, description) in entity.slots.enumerated() {
            let attribute = description.attribute
            guard !description.isRemoved else {
                builder.appendNull()
                continue
            }
            if columnOfSlot[slot] == nil, !attribute.defaultValue.isNull {
                builder.append(attribute.defaultValue)
                continue
            }
            // Nothing is a text and data, and of other types no value.
            guard let column = columnOfSlot[slot], !row.isNull(column),
                attribute.type == .string || attribute.type == .data || !row.range(of: column).isEmpty
            else {
                if !attribute.isOptional && attribute.derivation == nil {
                    throw bad(row, columnOfSlot[slot], "a value is required")
                }
                builder.appendNull()
                continue
            }
            try append(row, column, attribute)
        }
        batch.append(&builder)
    }

    private func bad(_ row: FieldRow, _ column: Int?, _ reason: String) -> BadInput {
        BadInput(
            file: file, line: row.line, column: column.map { $0 + 1 }, columnName: column.map { columns[$0] },
            reason: reason)
    }

    private mutating func append(_ row: FieldRow, _ column: Int, _ attribute: AttributeDescription) throws {
        let range = row.range(of: column)
        switch attribute.type {
        case .string:
            try row.bytes.withUnsafeBytes { bytes in
                let field = UnsafeRawBufferPointer(rebasing: bytes[range])
                if let invalid = field.firstInvalidUTF8 {
                    throw bad(row, column, "it is not valid UTF-8 from its byte \(invalid + 1) on")
                }
                builder.appendBytes(field.bytes)
            }
        case .integer:
            guard let number = row.bytes.withUnsafeBytes({ UnsafeRawBufferPointer(rebasing: $0[range]).decimalInteger })
            else {
                throw unreadable(row, column, attribute)
            }
            builder.appendInteger(number)
        default:
            guard let value = Value(catalogueText: row.text(of: column), as: attribute.type) else {
                throw unreadable(row, column, attribute)
            }
            builder.append(value)
        }
    }

    private func unreadable(_ row: FieldRow, _ column: Int, _ attribute: AttributeDescription) -> BadInput {
        let article = attribute.type == .integer ? "an" : "a"
        return bad(row, column, "\"\(row.excerpt(of: column))\" is not \(article) \(attribute.type.name)")
    }
}

extension UnsafeRawBufferPointer {
    /// The decimal integer that is written here; nil when it is none or takes more than 64 bits.
    fileprivate var decimalInteger: Int64? {
        let isNegative = first == 0x2D
        let digits = isNegative || first == 0x2B ? UnsafeRawBufferPointer(rebasing: dropFirst()) : self
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for byte in digits {
            guard (48...57).contains(byte) else { return nil }
            let (shifted, overflows) = number.multipliedReportingOverflow(by: 10)
            let digit = Int64(byte - 48)
            let (sum, sumOverflows) =
                isNegative ? shifted.subtractingReportingOverflow(digit) : shifted.addingReportingOverflow(digit)
            if overflows || sumOverflows { return nil }
            number = sum
        }
        return number
    }
}
