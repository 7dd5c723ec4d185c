extension UnsafeRawBufferPointer {
    /// Where the first bytes that are not UTF-8 begin; nil when all are. ASCII, which most is, is seen at once.
    package var firstInvalidUTF8: Int? {
        if allSatisfy({ $0 < 0x80 }) || String(validating: self, as: UTF8.self) != nil { return nil }
        // Decoding repairs only what is broken: up to there the bytes are those of the repaired text.
        let repaired = String(decoding: self, as: UTF8.self).utf8
        return zip(self, repaired).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? count
    }
}
