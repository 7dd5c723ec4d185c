extension TextFolding {
    /// Calls the body with the folded bytes of UTF-8 text. Text that is made of ASCII letters, kana, kanji and the like
    /// is folded on the stack; for the rest see `fold`. O(n).
    package func withFolded(_ text: RawSpan, _ body: (RawSpan) throws -> Bool) rethrows -> Bool {
        if isEmpty { return try body(text) }
        return try text.withUnsafeBytes { text in
            guard Self.changesOnlyCase(text) else {
                let folded = fold(String(decoding: text, as: UTF8.self))
                return try folded.withUnsafeBytes { try body($0.bytes) }
            }
            guard contains(.caseInsensitive) else { return try body(text.bytes) }
            return try withUnsafeTemporaryAllocation(byteCount: text.count, alignment: 1) { folded in
                for index in 0..<text.count {
                    let byte = text[index]
                    folded[index] = byte &- 65 < 26 ? byte | 0x20 : byte
                }
                return try body(UnsafeRawBufferPointer(folded).bytes)
            }
        }
    }

    /// Whether folding can only make A to Z lower-case: text of ASCII, kana, CJK punctuation and ideographs of U+3400
    /// to U+9FFF, none of which has a case, composes, or is composed by normalization. Combining marks are refused.
    private static func changesOnlyCase(_ text: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte < 0x80 {
                index += 1
                continue
            }
            guard byte >= 0xE3, byte <= 0xE9, index + 2 < text.count else { return false }
            let scalar =
                UInt32(byte & 0x0F) << 12 | UInt32(text[index + 1] & 0x3F) << 6 | UInt32(text[index + 2] & 0x3F)
            switch scalar {
            case 0x302A...0x302F, 0x3099, 0x309A: return false
            case 0x3000...0x30FF, 0x3400...0x9FFF: index += 3
            default: return false
            }
        }
        return true
    }
}
