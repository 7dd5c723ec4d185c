extension UnsafeRawBufferPointer {
    package var isASCII: Bool {
        guard count >= 8 else { return allSatisfy { $0 < 0x80 } }
        // The last word may have some bytes of the one before it.
        var bits = loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
        for offset in stride(from: 0, to: count - 8, by: 8) {
            bits |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        }
        return bits & 0x8080_8080_8080_8080 == 0
    }

    /// Where the first bytes that are not UTF-8 begin; nil when all are. ASCII, which most is, is seen at once.
    package var firstInvalidUTF8: Int? {
        if isASCII || String(validating: self, as: UTF8.self) != nil { return nil }
        // Decoding repairs only what is broken: up to there the bytes are those of the repaired text.
        let repaired = String(decoding: self, as: UTF8.self).utf8
        return zip(self, repaired).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? count
    }
}
