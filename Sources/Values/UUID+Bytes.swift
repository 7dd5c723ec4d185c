internal import Bytes
package import SystemBasics

extension UUID {
    /// Nil unless there are 16 bytes. The system is not asked for random ones, as `UUID()` does.
    package init?(copying bytes: RawSpan) {
        guard bytes.byteCount == MemoryLayout<uuid_t>.size else { return nil }
        self.init(uuid: bytes.unsafeLoadUnaligned(as: uuid_t.self))
    }
}
