/// The fields of one row, one after the other in a buffer.
package struct FieldRow {
    /// The line that the row begins on, from 1.
    package var line = 0
    package private(set) var bytes: [UInt8] = []
    /// Where fields end in the buffer; the end of a field without a value is stored as its complement.
    private var ends: [Int] = []

    package init() {}

    package var count: Int { ends.count }

    package mutating func begin(line: Int) {
        self.line = line
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    package mutating func append(_ field: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: field)
        ends.append(bytes.count)
    }

    /// A field that has no value, not even an empty text.
    package mutating func appendNull() {
        ends.append(~bytes.count)
    }

    /// Appends the fields of a line; one with nothing in it has no value. False when there are more than so many.
    mutating func appendFields(
        of line: UnsafeRawBufferPointer, separatedBy separator: UInt8, atMost most: Int
    ) -> Bool {
        var start = 0
        while count < most {
            let end = line.firstOffset(of: separator, from: start) ?? line.count
            if start == end { appendNull() } else { append(UnsafeRawBufferPointer(rebasing: line[start..<end])) }
            if end == line.count { return true }
            start = end + 1
        }
        return false
    }

    package func isNull(_ column: Int) -> Bool { ends[column] < 0 }

    package func range(of column: Int) -> Range<Int> { (column == 0 ? 0 : end(of: column - 1))..<end(of: column) }

    private func end(of column: Int) -> Int { ends[column] < 0 ? ~ends[column] : ends[column] }

    package func text(of column: Int) -> String { String(decoding: bytes[range(of: column)], as: UTF8.self) }

    /// A field as errors cite it.
    package func excerpt(of column: Int) -> String {
        let range = range(of: column)
        let beginning = range.lowerBound..<min(range.upperBound, range.lowerBound + 8 * String.excerptLength)
        return String(decoding: bytes[beginning], as: UTF8.self).excerpt
    }
}

extension String {
    fileprivate static let excerptLength = 40

    /// The text as errors cite it: its beginning, on one line, without terminal control characters.
    package var excerpt: String {
        var excerpt = ""
        for scalar in unicodeScalars.prefix(Self.excerptLength) {
            let isControl = [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
            excerpt.unicodeScalars.append(isControl ? " " : scalar)
        }
        return unicodeScalars.dropFirst(Self.excerptLength).isEmpty ? excerpt : excerpt + "…"
    }
}
