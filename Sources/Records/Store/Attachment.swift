internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels

/// What another module keeps in the store, under its name: bytes of which only the checksum is known here. They change with the
/// records of a transaction, or not at all.
package enum Attachment: String, CaseIterable, Sendable {
    /// What the store follows.
    case source
    /// How far it has followed that.
    case sourcePosition = "source position"

    fileprivate var key: [UInt8] { Array(rawValue.utf8) }
}

extension StoreReader {
    /// The bytes of an attachment; nil when the store has none of the name. Throws `corrupted`.
    package func attachment(_ attachment: Attachment) throws -> [UInt8]? {
        var bytes: [UInt8]?
        _ = try view.get(attachment.key, in: tables.meta) { value in
            let reader = try ByteReader(checked: value, "the attachment \"\(attachment.rawValue)\"")
            bytes = [UInt8](copying: reader.bytes)
        }
        return bytes
    }
}

extension StoreWriter {
    /// Replaces an attachment; nil removes it.
    package func setAttachment(_ attachment: Attachment, to bytes: [UInt8]?) throws {
        guard var bytes else {
            try view.delete(attachment.key, in: tables.meta)
            return
        }
        bytes.appendChecksum()
        try view.put(bytes, for: attachment.key, in: tables.meta)
    }
}
