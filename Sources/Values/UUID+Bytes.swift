package import FetchIndexEssentials

extension UUID {
    /// Makes a UUID from its 16 bytes; nil if there are more or fewer. Unlike `UUID()`, it doesn't ask the system for
    /// random bytes.
    package init?(copying bytes: RawSpan) {
        guard bytes.byteCount == MemoryLayout<uuid_t>.size else { return nil }
        self.init(uuid: bytes.unsafeLoadUnaligned(as: uuid_t.self))
    }
}
