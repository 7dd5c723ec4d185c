internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexValues

/// Converts rows of a file to records of an entity. Most numbers and texts are converted without making a `Value`.
struct RowConverter {
    private let request: ImportRequest
    private let entity: Entity
    private let columns: [String]
    private var form: RowForm
    private(set) var related: RelatedColumns
    /// Whether the file has JSON lines, in which keys may be written with or without quotation marks.
    private let isJSON: Bool
    private var spellings = KeySpellings()
    private var builder = RowBuilder()
    private var digits: [UInt8] = []

    /// `columns` are the columns of the file. If `mayUpdate`, a row may update a stored object.
    init(
        _ columns: [String], to entity: Entity, _ request: ImportRequest, _ related: RelatedColumns, mayUpdate: Bool
    ) throws {
        self.request = request
        isJSON = request.format == .jsonl
        self.related = related
        self.entity = entity
        self.columns = columns
        let others = related.allPlaces
        let own = columns.enumerated().filter { !others.contains($0.offset) }
        for (_, name) in own { _ = try entity.requireSlot(of: name) }
        let places = Dictionary(own.map { ($0.element, $0.offset) }) { first, _ in first }
        // A column may have a former name of the attribute.
        var columnOfSlot = [Int?](repeating: nil, count: entity.slots.count)
        for (name, column) in places {
            let slot = try entity.requireSlot(of: name)
            guard columnOfSlot[slot] == nil else {
                throw request.badColumn(
                    column + 1, name,
                    reason: "another column is for the same attribute, \(entity.attribute(at: slot).name)")
            }
            columnOfSlot[slot] = column
        }
        form = RowForm(of: entity, columnOfSlot: columnOfSlot, mayUpdate: mayUpdate)
    }

    /// Appends a row to a batch, with its number and related objects, if any. Returns whether the batch is full. Throws
    /// `BadInput`.
    mutating func append(_ row: FieldRow, to batch: inout RowBatch) throws -> Bool {
        guard row.count == columns.count else {
            throw request.badInput(
                line: row.line, reason: "it has \(counted(row.count, "field")), not \(columns.count)")
        }
        builder.begin()
        let (isASCII, hasAbsent) = (row.isASCII, row.hasAbsent)
        for source in form.sources {
            switch source {
            case .null: builder.appendNull()
            case .value(let number): builder.append(form.defaultValues[number])
            case .missing: throw bad(row, nil, "a value is required")
            case .column(let column, _, let isRequired, _) where hasAbsent && row.isAbsent(column):
                try appendAbsent(row, column, isRequired)
            case .column(let column, let type, let isRequired, let isKey):
                if Self.isNull(row, column, type) {
                    try appendNull(row, column, isRequired)
                } else {
                    try append(row, column, type, isKey, isASCII: isASCII)
                }
            }
        }
        form.noteOmissions(in: &builder, hasAbsent: hasAbsent) { row.isAbsent($0) }
        if related.isEmpty || hasAbsent && related.areAbsent(in: row) { return batch.append(&builder, line: row.line) }
        let links: RowLinks
        do throws(UnreadableField) { links = try related.links(in: row) } catch {
            var bad = bad(row, error.place, error.reason)
            bad.remedy = error.remedy
            throw bad
        }
        return batch.append(&builder, line: row.line, links: links, from: related.source)
    }

    /// Whether a field has no value. An empty text is a value, and so are empty data.
    private static func isNull(_ row: FieldRow, _ column: Int, _ type: ValueType) -> Bool {
        switch type {
        case .string, .data: row.isNull(column)
        case .integer, .double, .decimal: row.isEmpty(column)
        default: row.isNull(column) || row.isEmpty(column)
        }
    }

    private mutating func append(
        _ row: FieldRow, _ column: Int, _ type: ValueType, _ isKey: Bool, isASCII: Bool
    ) throws {
        switch type {
        case .string:
            if isKey && isJSON { try requireKey(row, column, .string(row.text(of: column))) }
            try appendText(row, column, isValid: isASCII)
        case .integer: try appendInteger(row, column, isKey)
        case .double, .decimal:
            if isKey || !appendNumber(row, column, type) { try appendValue(row, column, type, isKey) }
        default: try appendValue(row, column, type, isKey)
        }
    }

    /// Appends the value that a new object gets for an absent field: the attribute's default value, or null.
    private mutating func appendAbsent(_ row: FieldRow, _ column: Int, _ isRequired: Bool) throws {
        if let value = form.defaultValue(ofSlot: builder.slotCount) { return builder.append(value) }
        if isRequired && !form.mayUpdate { throw bad(row, column, "a value is required") }
        builder.appendNull()
    }

    private mutating func appendNull(_ row: FieldRow, _ column: Int, _ isRequired: Bool) throws {
        if isRequired { throw bad(row, column, "a value is required") }
        builder.appendNull()
    }

    private func bad(_ row: FieldRow, _ column: Int?, _ reason: String) -> BadInput {
        request.badInput(
            line: row.line, column: column.map { $0 + 1 }, columnName: column.map { columns[$0] },
            reason: reason)
    }

    private mutating func appendText(_ row: FieldRow, _ column: Int, isValid: Bool) throws {
        let field = row[column]
        if !isValid, let invalid = field.withUnsafeBytes({ $0.firstInvalidUTF8 }) {
            throw bad(row, column, "it is not valid UTF-8 at its byte \(invalid + 1)")
        }
        builder.appendBytes(field)
    }

    private mutating func appendInteger(_ row: FieldRow, _ column: Int, _ isKey: Bool) throws {
        let field = row[column]
        let written = field.withUnsafeBytes { $0.decimalInteger }
        guard let number = written ?? (row.isLiteral(column) ? JSONScalar.wholeNumber(row.text(of: column)) : nil)
        else { throw unreadable(row, column, .integer) }
        if isKey, isJSON || field.withUnsafeBytes({ !$0.isSpelled(as: number) }) {
            try requireKey(row, column, .integer(number))
        }
        builder.appendInteger(number)
    }

    /// Appends a double that prints the same digits again, or a decimal for which `NumberText.isDecimal` is true.
    /// Doesn't make a `Value`. Returns false for other texts.
    private mutating func appendNumber(_ row: FieldRow, _ column: Int, _ type: ValueType) -> Bool {
        let field = row[column]
        if type == .double {
            guard field.withUnsafeBytes({ NumberText($0)?.isDouble ?? false }),
                let number = Double(row.text(of: column))
            else { return false }
            builder.appendDouble(number)
            return true
        }
        digits.removeAll(keepingCapacity: true)
        let isExact = field.withUnsafeBytes { bytes in
            guard let number = NumberText(bytes), number.isDecimal else { return false }
            number.appendPlain(to: &digits)
            return true
        }
        // Copied, because the builder and the digits are parts of one value, which allows one access at a time.
        let plain = digits
        if isExact { builder.appendBytes(plain.span.bytes) }
        return isExact
    }

    private mutating func appendValue(_ row: FieldRow, _ column: Int, _ type: ValueType, _ isKey: Bool) throws {
        let text = row.text(of: column)
        guard let value = Value(catalogueText: text, as: type) else { throw unreadable(row, column, type) }
        if isKey { try requireKey(row, column, value) }
        builder.append(value)
    }

    private func unreadable(_ row: FieldRow, _ column: Int, _ type: ValueType) -> BadInput {
        badText(row, column, "\"\(row.excerpt(of: column))\" \(type.refusal(of: row.text(of: column)))")
    }

    private mutating func requireKey(_ row: FieldRow, _ column: Int, _ value: Value) throws {
        let fault = spellings.fault(
            row.text(of: column), of: value, isLiteral: row.isLiteral(column), inJSON: isJSON, column: column)
        if let fault { throw badText(row, column, fault) }
    }

    private func badText(_ row: FieldRow, _ column: Int, _ reason: String) -> BadInput {
        var bad = bad(row, column, reason)
        bad.isOfType = true
        return bad
    }
}

extension UnsafeRawBufferPointer {
    /// Whether this text is the number's usual one, without a plus sign and without leading zeros.
    fileprivate func isSpelled(as number: Int64) -> Bool {
        let digits = first == 0x2D ? dropFirst() : self[...]
        return first != 0x2B && (number == 0 ? count == 1 : digits.first != 0x30)
    }

    /// The integer that this text is in decimal digits; nil for other texts, and for integers of more than 64 bits.
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
