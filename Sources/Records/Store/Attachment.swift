internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels

/// Bytes that another module stores in the meta table under a name. This module checks only their checksum. The bytes
/// are written in the same transaction as records, so both are saved or neither is.
package enum Attachment: String, CaseIterable, Sendable {
    /// The source that the store follows.
    case source
    /// The position in the source up to which the store has the source's changes.
    case sourcePosition = "source position"
    /// The object graph whose copy the store's objects are.
    case graph

    fileprivate var key: [UInt8] { Array(rawValue.utf8) }
}

extension StoreReader {
    /// The bytes of an attachment; nil if it's missing. Throws `corrupted` if they don't match their checksum. O(log
    /// n).
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
    /// Replaces the bytes of an attachment, or removes it if `bytes` is nil.
    package func setAttachment(_ attachment: Attachment, to bytes: [UInt8]?) throws {
        guard var bytes else {
            try view.delete(attachment.key, in: tables.meta)
            return
        }
        bytes.appendChecksum()
        try view.put(bytes, for: attachment.key, in: tables.meta)
    }
}
