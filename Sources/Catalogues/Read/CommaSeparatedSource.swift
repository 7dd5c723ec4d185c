internal import CFetchIndexCSV
package import FetchIndexValues

/// Comma-separated values. Most lines without quotation marks are split at the delimiter. libcsv parses the beginning
/// of the file and all other lines, with quoted fields and quoted line ends (RFC 4180). Lines end with CRLF, LF or CR.
/// An empty field is null, and "" an empty text. A misplaced quotation mark ends the reading: rows after it could be
/// part of a field.
package final class CommaSeparatedSource: RowSource {
    private let input: CatalogueInput
    private let reader: FileReader
    private let parser: UnsafeMutablePointer<csv_parser>
    private let collector = RowCollector()
    private let delimiter: UInt8
    /// The error that ended the reading; thrown after the preceding rows were passed on.
    private var fault: BadInput?
    package private(set) var columns: [String] = []

    package init(_ input: CatalogueInput, _ told: ToldColumns = ToldColumns()) throws {
        self.input = input
        let named = try Self.namedDelimiter(input)
        delimiter = input.delimiter ?? named ?? 0x2C
        reader = try FileReader(input)
        parser = .allocate(capacity: 1)
        csv_init(parser, UInt8(CSV_REPALL_NL | CSV_EMPTY_IS_NULL | CSV_STRICT | CSV_STRICT_FINI))
        csv_set_space_func(parser) { _ in 0 }  // blanks belong to their fields
        csv_set_blk_size(parser, 1 << 12)
        csv_set_delim(parser, delimiter)
        // The line that names the delimiter isn't a row.
        let headerPlace = named == nil ? 0 : 1
        while try parsePiece() {
            if collector.rows.count > headerPlace { break }
            try verifyUnfinished()
        }
        if collector.rows.count <= headerPlace { try finish() }
        let header = collector.rows.dropFirst(headerPlace).first ?? FieldRow()
        try verify(header, line: header.line)
        if input.delimiter == nil && named == nil { try header.refuseOtherDelimiter(in: input, isCSV: true) }
        columns = try header.columnNames(in: input, told)
        collector.rows = Array(collector.rows.dropFirst(headerPlace + 1))
    }

    private struct LineRead: Error {}

    /// The delimiter that the first line names, in the spreadsheets' form `sep=;`. Nil if the line has another form, or
    /// names a character that can't be a delimiter.
    private static func namedDelimiter(_ input: CatalogueInput) throws -> UInt8? {
        var named: UInt8?
        do {
            try LineSplitter(input).forEachLine(
                { line, _ in
                    if line.count == 5, line.starts(with: "sep=".utf8) { named = line[4] }
                    throw LineRead()
                }, tooLong: { _ in throw LineRead() })
        } catch is LineRead {}
        return named.flatMap { CatalogueInput.canDelimit($0) ? $0 : nil }
    }

    deinit {
        csv_free(parser)
        parser.deallocate()
    }

    package var progress: (done: Int, total: Int) { (reader.position, reader.length) }

    package var decompressesAhead: Bool {
        get { reader.decompressesAhead }
        set { reader.decompressesAhead = newValue }
    }

    package func inferTypes(of asked: Set<Int>, key: String?) throws -> [ValueType] { readTypes(of: asked, key: key) }

    package func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws {
        try handOut(body)
        if let fault { throw fault }
        var plainRow = FieldRow()
        try reader.forEachPiece { try split($0, &plainRow, body) }
        try finish()
        try handOut(body)
    }

    /// Calls the body with each row that ends in a piece. `plainRow` is reused for lines without quotation marks.
    private func split(
        _ piece: UnsafeRawBufferPointer, _ plainRow: inout FieldRow, _ body: (FieldRow) throws -> Void
    ) throws {
        var start = 0
        var (nextQuote, nextReturn) = (-1, -1)
        while start < piece.count {
            if nextQuote < start { nextQuote = piece.firstOffset(of: 0x22, from: start) ?? piece.count }
            if nextReturn < start { nextReturn = piece.firstOffset(of: 0x0D, from: start) ?? piece.count }
            let end = piece.firstOffset(of: 0x0A, from: start) ?? piece.count
            if isBetweenRows, end < piece.count, nextQuote > end, nextReturn >= end - 1 {
                let line = UnsafeRawBufferPointer(rebasing: piece[start..<min(end, nextReturn)])
                plainRow.begin(line: collector.takeLine())
                if !line.isEmpty {
                    let fits = plainRow.appendFields(
                        of: line, separatedBy: delimiter, atMost: CatalogueInput.maximumColumns)
                    if !fits { throw input.tooWide("the row", line: plainRow.line) }
                    try verify(plainRow, line: plainRow.line)
                    try body(plainRow)
                }
            } else {
                parse(UnsafeRawBufferPointer(rebasing: piece[start..<min(end + 1, piece.count)]))
                try handOut(body)
                if let fault { throw fault }
            }
            start = end + 1
        }
    }

    /// Whether the parser holds no part of the next row.
    private var isBetweenRows: Bool {
        collector.isBetweenRows && parser.pointee.pstate == 0 && parser.pointee.entry_pos == 0
    }

    private func handOut(_ body: (FieldRow) throws -> Void) throws {
        for row in collector.rows {
            try verify(row, line: row.line)
            try body(row)
        }
        collector.rows.removeAll(keepingCapacity: true)
        try verifyUnfinished()
    }

    /// Parses the next piece. Returns false at the end.
    private func parsePiece() throws -> Bool {
        if let fault { throw fault }
        return try reader.readPiece { parse($0) }
    }

    private func parse(_ piece: UnsafeRawBufferPointer) {
        let context = Unmanaged.passUnretained(collector).toOpaque()
        let parsed = csv_parse(parser, piece.baseAddress, piece.count, endField, endRow, context)
        if parsed != piece.count { fault = parserFault() }
    }

    /// Returns the reason why the parser stopped, and the line.
    private func parserFault() -> BadInput {
        let start = collector.fieldLine
        guard csv_error(parser) == CSV_EPARSE else {
            return BadInput(file: input.path, line: start, reason: String(cString: csv_strerror(csv_error(parser))))
        }
        guard parser.pointee.quoted != 0 else {
            let reason = "a field that has a quotation mark must be in quotation marks, with the mark doubled"
            return BadInput(file: input.path, line: start, reason: reason)
        }
        let field = UnsafeRawBufferPointer(start: parser.pointee.entry_buf, count: parser.pointee.entry_pos)
        let line = start + field.lineEnds
        let beginning = line == start ? "" : "; the field begins on line \(start)"
        return BadInput(
            file: input.path, line: line,
            reason: "a quotation mark inside a quoted field must be doubled\(beginning)")
    }

    /// Throws if a row exceeds the limits, which ends the reading: if a quotation mark is never closed, the row's real
    /// end is unknown.
    private func verify(_ row: FieldRow, line: Int, unfinished: Int = 0) throws {
        if row.byteCount + unfinished > input.longestLine {
            throw input.tooLong("the row", line: line, "; is a quotation mark never closed?")
        }
        if row.count > CatalogueInput.maximumColumns { throw input.tooWide("the row", line: line) }
    }

    private func verifyUnfinished() throws {
        try verify(collector.row, line: collector.rowLine, unfinished: parser.pointee.entry_pos)
    }

    private func finish() throws {
        let context = Unmanaged.passUnretained(collector).toOpaque()
        guard csv_fini(parser, endField, endRow, context) == 0 else {
            throw BadInput(
                file: input.path, line: collector.fieldLine,
                reason: "the quotation mark that opens a field here is never closed")
        }
    }
}

/// Collects the fields that libcsv finds, and counts lines.
private final class RowCollector {
    var rows: [FieldRow] = []
    private(set) var row = FieldRow()
    /// The line on which the current row begins.
    private(set) var rowLine = 1
    /// The line on which the current field begins.
    private(set) var fieldLine = 1
    private var lastWasReturn = false

    var isBetweenRows: Bool { row.count == 0 && !lastWasReturn }

    /// Counts a line that is empty or a whole row, and that the parser doesn't get. Returns the line's number.
    func takeLine() -> Int {
        defer { rowLine = fieldLine }
        fieldLine += 1
        return fieldLine - 1
    }

    /// Adds a field; nil if nothing is between its delimiters.
    func endField(_ field: UnsafeRawBufferPointer?) {
        if row.count == 0 { row.line = rowLine }
        if let field { row.append(field) } else { row.appendNull() }
        fieldLine += field?.lineEnds ?? 0
        lastWasReturn = false
    }

    /// Ends a row. It is called for each line end outside of quotes, so also for empty lines and for both parts of
    /// CRLF.
    func endRow(_ character: Int32) {
        let isLineFeedOfReturn = character == 0x0A && lastWasReturn && row.count == 0
        if !isLineFeedOfReturn { fieldLine += 1 }
        lastWasReturn = character == 0x0D
        if row.count > 0 {
            rows.append(row)
            row = FieldRow()
        }
        rowLine = fieldLine
    }
}

extension UnsafeRawBufferPointer {
    /// The number of line ends: LF, CRLF and CR each end a line.
    fileprivate var lineEnds: Int {
        var ends = 0
        var last: UInt8 = 0
        for byte in self {
            if byte == 0x0D || (byte == 0x0A && last != 0x0D) { ends += 1 }
            last = byte
        }
        return ends
    }
}

private func endField(_ bytes: UnsafeMutableRawPointer?, _ length: Int, _ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    let collector = Unmanaged<RowCollector>.fromOpaque(context).takeUnretainedValue()
    collector.endField(bytes.map { UnsafeRawBufferPointer(start: $0, count: length) })
}

private func endRow(_ character: Int32, _ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    Unmanaged<RowCollector>.fromOpaque(context).takeUnretainedValue().endRow(character)
}
