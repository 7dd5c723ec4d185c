package import FetchIndexValues

/// Writes rows, in the form that the catalogue readers accept, into a buffer that the caller empties.
///
/// Null is an empty field in CSV and TSV, and an empty text is `""` in CSV; TSV can't distinguish it from null.
package struct CatalogueWriter {
    /// The error for a value or a row that the format can't represent; `reason` says why.
    package struct Unwritable: Error {
        package let column: Int
        package let reason: String
    }

    private static let quotation = UInt8(ascii: "\"")

    private let format: CatalogueFormat
    private let columns: [String]
    /// The names that precede the values of a JSON object.
    private let members: [[UInt8]]
    private var column = 0
    package private(set) var bytes: [UInt8] = []
    /// The number of empty texts written as TSV, which are read back as null.
    package private(set) var emptyTexts = 0

    /// Writes the header, if the format has one.
    package init(_ format: CatalogueFormat, columns: [String]) throws(Unwritable) {
        self.format = format
        self.columns = columns
        members = columns.enumerated().map { index, name in
            var member = Array(index == 0 ? "{".utf8 : ",".utf8)
            Array(name.utf8).withUnsafeBytes { Self.appendJSON($0, to: &member) }
            return member + [UInt8(ascii: ":")]
        }
        guard format != .jsonl else { return }
        for name in columns { try append(.string(name)) }
        try endRow()
    }

    package mutating func removeWritten() { bytes.removeAll(keepingCapacity: true) }

    package mutating func append(_ value: Value) throws(Unwritable) {
        if value.isNull {
            begin()
            if format == .jsonl { bytes.append(contentsOf: "null".utf8) }
            column += 1
        } else if format == .jsonl, value.isJSONLiteral {
            begin()
            bytes.append(contentsOf: value.catalogueText.utf8)
            column += 1
        } else {
            var text = value.catalogueText
            let fault = text.withUTF8 { text -> Unwritable? in
                do throws(Unwritable) { try append(text: UnsafeRawBufferPointer(text)) } catch { return error }
                return nil
            }
            if let fault { throw fault }
        }
    }

    /// Appends a text given as UTF-8.
    package mutating func append(text: UnsafeRawBufferPointer) throws(Unwritable) {
        begin()
        switch format {
        case .jsonl: Self.appendJSON(text, to: &bytes)
        case .csv: appendCSV(text)
        case .tsv:
            guard !text.contains(where: { $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }) else {
                throw Unwritable(
                    column: column, reason: "TSV cannot contain tabs or line ends; CSV and JSON lines can")
            }
            if text.isEmpty { emptyTexts += 1 }
            bytes.append(contentsOf: text)
        }
        column += 1
    }

    /// Appends the delimiter or name that precedes a field.
    private mutating func begin() {
        if format == .jsonl {
            bytes.append(contentsOf: members[column])
        } else if column > 0 {
            bytes.append(UInt8(ascii: format == .csv ? "," : "\t"))
        }
    }

    package mutating func endRow() throws(Unwritable) {
        if format != .jsonl, columns.count == 1, bytes.isEmpty || bytes.last == 0x0A {
            throw Unwritable(
                column: 0, reason: "a row of one empty field would be an empty line; JSON lines can contain such rows")
        }
        if format == .jsonl { bytes.append(UInt8(ascii: "}")) }
        bytes.append(0x0A)
        column = 0
    }

    /// Appends a text, in quotation marks if it is empty or has a quotation mark, a comma or a line end.
    private mutating func appendCSV(_ text: UnsafeRawBufferPointer) {
        let needsQuotation = text.contains { $0 == Self.quotation || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }
        guard needsQuotation || text.isEmpty else { return bytes.append(contentsOf: text) }
        bytes.append(Self.quotation)
        for byte in text {
            if byte == Self.quotation { bytes.append(byte) }
            bytes.append(byte)
        }
        bytes.append(Self.quotation)
    }

    static func appendJSON(_ text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        bytes.append(quotation)
        var written = 0
        for (index, byte) in text.enumerated()
        where byte < 0x20 || byte == quotation || byte == UInt8(ascii: "\\") || byte == 0x7F {
            bytes.append(contentsOf: text[written..<index])
            written = index + 1
            switch byte {
            case quotation, UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x0A: bytes += Array("\\n".utf8)
            case 0x09: bytes += Array("\\t".utf8)
            default:
                let digits = String(byte, radix: 16)
                bytes += Array(("\\u00" + (byte < 16 ? "0" : "") + digits).utf8)
            }
        }
        bytes.append(contentsOf: text[written...])
        bytes.append(quotation)
    }
}

extension Value {
    /// Whether the value is written to JSON as a number or a boolean. A decimal isn't, because it may have more digits
    /// than readers of JSON preserve.
    var isJSONLiteral: Bool {
        switch self {
        case .boolean, .integer: true
        case .double(let number): number.isFinite
        default: false
        }
    }
}
