internal import FetchIndexCLibrary

/// A row of COPY's text format: fields between tabs, `\N` for null, and escapes with a backslash for characters that
/// would be misread. PostgreSQL documentation, COPY, "Text Format".
package struct CopiedRow {
    package private(set) var fields: [StreamedValue] = []
    /// The unescaped bytes. The texts of fields are ranges of them.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Reads a row, without the line end that may follow it. O(bytes).
    package mutating func read(_ row: UnsafeRawBufferPointer) {
        fields.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        let row = row.last == 10 ? UnsafeRawBufferPointer(rebasing: row.dropLast()) : row
        let isPlain = row.baseAddress.map { memchr($0, 92, row.count) == nil } ?? true
        if isPlain { bytes.append(contentsOf: row) } else { bytes.reserveCapacity(row.count) }
        var start = 0
        var isNull = false
        func end(at place: Int) {
            fields.append(isNull ? .null : .text(start..<place))
            isNull = false
        }
        if isPlain {
            for (place, byte) in row.enumerated() where byte == 9 {
                end(at: place)
                start = place + 1
            }
            return end(at: row.count)
        }
        var place = 0
        while place < row.count {
            let byte = row[place]
            place += 1
            if byte == 9 {
                end(at: bytes.count)
                start = bytes.count
            } else if byte == 92, place < row.count {
                let escaped = row[place]
                place += 1
                // Only null is written as a backslash and an N, because a backslash of a text is doubled.
                if escaped == UInt8(ascii: "N") { isNull = true } else { bytes.append(Self.unescaped(escaped)) }
            } else {
                bytes.append(byte)
            }
        }
        end(at: bytes.count)
    }

    private static func unescaped(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "b"): 8
        case UInt8(ascii: "t"): 9
        case UInt8(ascii: "n"): 10
        case UInt8(ascii: "v"): 11
        case UInt8(ascii: "f"): 12
        case UInt8(ascii: "r"): 13
        default: byte
        }
    }
}
