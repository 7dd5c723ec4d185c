internal import Bytes
internal import Models
internal import Records

/// Caches that were rebuilt for a reader who may not have had the order: it failed or was killed before it was done. Without this
/// note the next opening would be a hit, as if nothing had changed for the reader.
extension CacheDirectory {
    /// Why a cache was rebuilt; nil when a reader has had the order since. O(1) where no cache is in the list.
    static func unreadReason(of name: String, in reader: StoreReader) throws -> RebuildReason? {
        try unread(in: reader)[name]
    }

    private static func unread(in reader: StoreReader) throws -> [String: RebuildReason] {
        var reasons: [String: RebuildReason] = [:]
        try reader.withCacheList(.unread) { bytes in
            var reader = try ByteReader(checked: bytes, "the list of unread caches")
            for _ in 0..<(try reader.count()) {
                let name = try reader.text()
                // A reason of a later version is a rebuild all the same.
                reasons[name] = RebuildReason(rawValue: try reader.text()) ?? .requested
            }
        }
        return reasons
    }

    /// Adds a cache with the reason of its rebuild, or takes it out. A list that cannot be read is written anew.
    static func setUnread(_ reason: RebuildReason?, _ name: String, in writer: StoreWriter) throws {
        let stored = try? unread(in: writer)
        var reasons = stored ?? [:]
        if stored != nil, reasons[name] == reason { return }
        reasons[name] = reason
        try write(reasons, in: writer)
    }

    /// Empties the list when it cannot be read. Returns what was done.
    static func repairUnread(in writer: StoreWriter) throws -> [String] {
        do { _ = try unread(in: writer) } catch  where error.isDamage {
            try write([:], in: writer)
            return ["the list of unread caches was damaged: it is empty now"]
        }
        return []
    }

    private static func write(_ reasons: [String: RebuildReason], in writer: StoreWriter) throws {
        var bytes: [UInt8] = []
        bytes.appendVarint(UInt64(reasons.count))
        for (name, reason) in reasons.sorted(by: { $0.key < $1.key }) {
            bytes.appendText(name)
            bytes.appendText(reason.rawValue)
        }
        bytes.appendChecksum()
        try writer.setCacheList(.unread, reasons.isEmpty ? nil : bytes)
    }
}
