/// What a catalogue or a change file is read from, once or more: a file, or bytes that stand for one.
///
/// Memory for reading is bounded by the limits, whatever the bytes are.
package struct CatalogueInput: Sendable {
    /// The attributes that an entity may have.
    package static let maximumColumns = 1 << 15
    package static let longestLine = 64 << 20

    /// The file, and what errors call it.
    package let path: String
    /// Nil: the file's.
    let bytes: [UInt8]?
    /// Bytes that a line may have without its end; of CSV, a row's values together.
    let longestLine: Int
    /// Bytes that are handed out at a time.
    let pieceLength: Int

    package init(
        _ path: String, bytes: [UInt8]? = nil, longestLine: Int = Self.longestLine, pieceLength: Int = 1 << 16
    ) {
        (self.path, self.bytes, self.longestLine, self.pieceLength) = (path, bytes, longestLine, pieceLength)
    }

    /// The error of a line that is longer than it may be.
    func tooLong(_ what: String, line: Int, _ hint: String = "") -> BadInput {
        let limit = longestLine >= 1 << 20 ? "\(longestLine >> 20) MiB" : "\(longestLine) bytes"
        return BadInput(file: path, line: line, reason: "\(what) is longer than \(limit)\(hint)")
    }

    /// The error of a row that has more fields than an entity can have attributes.
    func tooWide(_ what: String, line: Int) -> BadInput {
        BadInput(file: path, line: line, reason: "\(what) has more than \(Self.maximumColumns) fields")
    }
}
