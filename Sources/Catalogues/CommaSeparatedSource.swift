internal import CCSV

/// Comma-separated values by libcsv: quotes, quoted line ends, CRLF (RFC 4180).
package final class CommaSeparatedSource: RowSource {
    private let path: String
    private let reader: FileReader
    private let parser: UnsafeMutablePointer<csv_parser>
    private let collector = RowCollector()
    package private(set) var columns: [String] = []
    /// Rows that came with the piece that had the header.
    private var early: ArraySlice<FieldRow> = []

    package init(_ path: String) throws {
        self.path = path
        reader = try FileReader(path)
        parser = .allocate(capacity: 1)
        csv_init(parser, UInt8(CSV_REPALL_NL))
        csv_set_space_func(parser) { _ in 0 }  // blanks belong to their fields
        while collector.rows.isEmpty, try parsePiece() {}
        if collector.rows.isEmpty { try finish() }
        columns = try (collector.rows.first ?? FieldRow()).columnNames(in: path)
        early = collector.rows.dropFirst()
        collector.rows = []
    }

    deinit {
        csv_free(parser)
        parser.deallocate()
    }

    package var progress: (done: Int, total: Int) { (reader.position, reader.length) }

    package func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws {
        for row in early { try body(row) }
        early = []
        while try parsePiece() { try handOut(body) }
        try finish()
        try handOut(body)
    }

    private func handOut(_ body: (FieldRow) throws -> Void) throws {
        for row in collector.rows { try body(row) }
        collector.rows.removeAll(keepingCapacity: true)
    }

    /// Pieces go to the parser in small steps, so that few rows wait at a time.
    private func parsePiece() throws -> Bool {
        try reader.readPiece { piece in
            let context = Unmanaged.passUnretained(collector).toOpaque()
            let parsed = csv_parse(parser, piece.baseAddress, piece.count, endField, endRow, context)
            guard parsed == piece.count else {
                throw BadInput(
                    file: path, line: collector.line, reason: String(cString: csv_strerror(csv_error(parser))))
            }
        }
    }

    private func finish() throws {
        let context = Unmanaged.passUnretained(collector).toOpaque()
        // Strict about the end only: a quotation mark inside of an unquoted field is taken as it is.
        csv_set_opts(parser, UInt8(CSV_REPALL_NL | CSV_STRICT | CSV_STRICT_FINI))
        guard csv_fini(parser, endField, endRow, context) == 0 else {
            throw BadInput(
                file: path, line: collector.line,
                reason: "the quotation mark that opens a field of this row is never closed")
        }
    }
}

/// Takes the fields that libcsv finds and counts lines.
private final class RowCollector {
    var rows: [FieldRow] = []
    /// The line on which the current row begins.
    private(set) var line = 1
    private var nextLine = 1
    private var row = FieldRow()
    private var lastWasReturn = false

    func endField(_ field: UnsafeRawBufferPointer) {
        if row.count == 0 { row.line = line }
        row.append(field)
        nextLine += field.count { $0 == 0x0A }
        lastWasReturn = false
    }

    /// Called for each line end outside of quotes, so also for empty lines and for both parts of CRLF.
    func endRow(_ character: Int32) {
        let isLineFeedOfReturn = character == 0x0A && lastWasReturn && row.count == 0
        if !isLineFeedOfReturn { nextLine += 1 }
        lastWasReturn = character == 0x0D
        if row.count > 0 {
            rows.append(row)
            row = FieldRow()
        }
        line = nextLine
    }
}

private func endField(_ bytes: UnsafeMutableRawPointer?, _ length: Int, _ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    let collector = Unmanaged<RowCollector>.fromOpaque(context).takeUnretainedValue()
    collector.endField(UnsafeRawBufferPointer(start: bytes, count: length))
}

private func endRow(_ character: Int32, _ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    Unmanaged<RowCollector>.fromOpaque(context).takeUnretainedValue().endRow(character)
}
