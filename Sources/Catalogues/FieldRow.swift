internal import FetchIndexPlatform

/// The fields of one row in a buffer.
package struct FieldRow {
    /// The line on which the row begins, from 1.
    package var line = 0
    private var bytes = ReusedBytes()
    private enum Content: UInt8 {
        case text, literal, null, absent
    }
    private struct Field {
        let start: Int
        let end: Int
        let content: Content
    }

    /// The row's fields, followed by unused fields of earlier rows.
    private var fields: [Field] = []
    package private(set) var count = 0
    /// Whether the row lacks a field, because a JSON object lacks the member.
    package private(set) var hasAbsent = false

    package init() {}

    /// The total length of all fields, in bytes. It includes the separators of fields that `appendFields` appended.
    var byteCount: Int { bytes.count }

    /// Whether all fields are ASCII, and so valid UTF-8.
    package var isASCII: Bool { bytes.bytes.withUnsafeBytes(\.isASCII) }

    package mutating func begin(line: Int) {
        self.line = line
        bytes.removeAll()
        count = 0
        hasAbsent = false
    }

    private mutating func append(_ field: Field) {
        if count < fields.count { fields[count] = field } else { fields.append(field) }
        count += 1
    }

    package mutating func append(_ field: UnsafeRawBufferPointer) {
        let start = bytes.count
        bytes.append(field)
        append(Field(start: start, end: bytes.count, content: .text))
    }

    /// Appends a number or a boolean of JSON.
    mutating func appendLiteral(_ field: UnsafeRawBufferPointer) {
        let start = bytes.count
        bytes.append(field)
        append(Field(start: start, end: bytes.count, content: .literal))
    }

    /// Appends a field without a value, not even an empty text.
    package mutating func appendNull() {
        append(Field(start: bytes.count, end: bytes.count, content: .null))
    }

    /// Appends a field that the row lacks: a stored object keeps the attribute's value.
    mutating func appendAbsent() {
        append(Field(start: bytes.count, end: bytes.count, content: .absent))
        hasAbsent = true
    }

    /// Appends the fields of a line. An empty field is null. Returns false if the row would have more than `most`
    /// fields.
    mutating func appendFields(
        of line: UnsafeRawBufferPointer, separatedBy separator: UInt8, atMost most: Int
    ) -> Bool {
        let base = bytes.count
        // Copies the whole line with its separators, which costs less than copying each field.
        bytes.append(line)
        var start = 0
        while count < most {
            let end = line.firstOffset(of: separator, from: start) ?? line.count
            append(Field(start: base + start, end: base + end, content: start == end ? .null : .text))
            if end == line.count { return true }
            start = end + 1
        }
        return false
    }

    /// Whether a field is null or absent.
    package func isNull(_ column: Int) -> Bool {
        let content = fields[column].content
        return content == .null || content == .absent
    }

    /// Whether a field is a number or a boolean of JSON, without quotation marks.
    package func isLiteral(_ column: Int) -> Bool { fields[column].content == .literal }

    package func isAbsent(_ column: Int) -> Bool { fields[column].content == .absent }

    package func isEmpty(_ column: Int) -> Bool { fields[column].start == fields[column].end }

    /// The bytes of a field.
    package subscript(column: Int) -> RawSpan {
        @_lifetime(borrow self)
        borrowing get { bytes.bytes.extracting(fields[column].start..<fields[column].end) }
    }

    package func text(of column: Int) -> String {
        self[column].withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// A field's text as errors quote it.
    package func excerpt(of column: Int) -> String {
        let beginning = self[column].extracting(first: 8 * String.excerptLength)
        return beginning.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }.excerpt
    }
}

extension String {
    fileprivate static let excerptLength = 40

    /// The text as errors quote it: its beginning, on one line, without terminal control characters.
    package var excerpt: String {
        var excerpt = ""
        for scalar in unicodeScalars.prefix(Self.excerptLength) {
            let isControl = [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
            excerpt.unicodeScalars.append(isControl ? " " : scalar)
        }
        return unicodeScalars.dropFirst(Self.excerptLength).isEmpty ? excerpt : excerpt + "…"
    }
}
