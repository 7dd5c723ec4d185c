internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexRecords

/// The position in a source up to which the store has the source's changes. It's saved in the same transaction as the
/// changes. Its bytes: time 8 (the bits of a double) | text
///
/// For the module that follows a source. Users read ``StoreInformation/Source``.
package struct SourcePosition: Equatable, Sendable {
    /// The position in the source's own notation.
    package var text: String
    /// The commit time of the last source transaction in the store, in seconds since 1970; 0 before the first one.
    package var time: Double

    package init(text: String, time: Double) { (self.text, self.time) = (text, time) }
}

extension StoreReader {
    /// Reads the stored position; nil before the first copy. Throws `corrupted`.
    func sourcePosition(named name: String) throws -> SourcePosition? {
        guard let bytes = try attachment(.sourcePosition, of: SourceName.part(name)) else { return nil }
        var reader = ByteReader(bytes.span.bytes, "the position in the source")
        let time = Double(bitPattern: try reader.uint64())
        return SourcePosition(text: try reader.text(), time: time)
    }
}

extension StoreWriter {
    func setSourcePosition(_ position: SourcePosition, named name: String) throws {
        var bytes: [UInt8] = []
        bytes.appendNumber(position.time.bitPattern)
        bytes.appendText(position.text)
        try setAttachment(.sourcePosition, of: SourceName.part(name), to: bytes)
    }
}
