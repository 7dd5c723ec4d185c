extension UnsafeRawBufferPointer {
    package var isASCII: Bool {
        guard count >= 8 else { return allSatisfy { $0 < 0x80 } }
        // The last word may overlap the word before it.
        var bits = loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
        for offset in stride(from: 0, to: count - 8, by: 8) {
            bits |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        }
        return bits & 0x8080_8080_8080_8080 == 0
    }

    /// The offset of the first bytes that aren't valid UTF-8; nil if all bytes are valid. Pure ASCII, the common case,
    /// takes a fast path. O(n).
    package var firstInvalidUTF8: Int? {
        if isASCII || String(validating: self, as: UTF8.self) != nil { return nil }
        // Decoding replaces only invalid bytes, by U+FFFD (EF BF BD). So the first difference between the bytes and the
        // decoded text is in the U+FFFD that replaces the first invalid bytes. It may be in its second or third byte,
        // because invalid bytes may begin with EF BF; so the loop goes back to the first byte.
        let repaired = Array(String(decoding: self, as: UTF8.self).utf8)
        var offset = zip(self, repaired).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? count
        while offset > 0, repaired[offset] & 0xC0 == 0x80 { offset -= 1 }
        return offset
    }
}
