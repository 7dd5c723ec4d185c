internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels

/// Bytes that another module stores in the meta table under a name. This module checks only their checksum. The bytes
/// are written in the same transaction as records, so both are saved or neither is.
///
/// An attachment may have parts, whose names the other module chooses; the part "" is the attachment without one.
package enum Attachment: String, CaseIterable, Sendable {
    /// A source that the store follows.
    case source
    /// The position in a source up to which the store has the source's changes.
    case sourcePosition = "source position"
    /// The object graph whose copy the store's objects are.
    case graph

    fileprivate func key(of part: String) -> [UInt8] { Array((part.isEmpty ? rawValue : prefix + part).utf8) }

    fileprivate var prefix: String { rawValue + "/" }
}

extension StoreReader {
    /// The bytes of an attachment; nil if it's missing. Throws `corrupted` if they don't match their checksum. O(log
    /// n).
    package func attachment(_ attachment: Attachment, of part: String = "") throws -> [UInt8]? {
        var bytes: [UInt8]?
        _ = try view.get(attachment.key(of: part), in: tables.meta) { value in
            let reader = try ByteReader(checked: value, "the attachment \"\(attachment.rawValue)\"")
            bytes = [UInt8](copying: reader.bytes)
        }
        return bytes
    }

    /// The names of an attachment's parts, in the order of their bytes; "" comes first, if there are bytes without a part.
    /// O(k + log n) for k parts.
    package func parts(of attachment: Attachment) throws -> [String] {
        var parts = try view.get(attachment.key(of: ""), in: tables.meta) { _ in } ? [""] : []
        let prefix = Array(attachment.prefix.utf8)
        try view.walk(tables.meta, from: prefix.span.bytes) { cursor in
            let key = [UInt8](copying: cursor.key)
            guard key.starts(with: prefix) else { return false }
            parts.append(String(decoding: key.dropFirst(prefix.count), as: UTF8.self))
            return true
        }
        return parts
    }
}

extension StoreWriter {
    /// Replaces the bytes of an attachment, or removes it if `bytes` is nil.
    package func setAttachment(_ attachment: Attachment, of part: String = "", to bytes: [UInt8]?) throws {
        let key = attachment.key(of: part)
        guard var bytes else {
            try view.delete(key, in: tables.meta)
            return
        }
        bytes.appendChecksum()
        try view.put(bytes, for: key, in: tables.meta)
    }
}
