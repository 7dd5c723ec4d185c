internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexRecords

/// Up to where a store has followed its source: what came before is in it, in the same transaction.
/// Its bytes: time 8 (the bits of a double) | text
package struct SourcePosition: Equatable, Sendable {
    /// As the source writes its positions.
    package var text: String
    /// When the source committed the last transaction that was followed, in seconds since 1970; 0 when there was none.
    package var time: Double

    package init(text: String, time: Double) { (self.text, self.time) = (text, time) }
}

extension StoreReader {
    /// Nil before the first copy. Throws `corrupted`.
    func sourcePosition() throws -> SourcePosition? {
        guard let bytes = try attachment(.sourcePosition) else { return nil }
        var reader = ByteReader(bytes.span.bytes, "the position in the source")
        let time = Double(bitPattern: try reader.uint64())
        return SourcePosition(text: try reader.text(), time: time)
    }
}

extension StoreWriter {
    func setSourcePosition(_ position: SourcePosition) throws {
        var bytes: [UInt8] = []
        bytes.appendNumber(position.time.bitPattern)
        bytes.appendText(position.text)
        try setAttachment(.sourcePosition, to: bytes)
    }
}
