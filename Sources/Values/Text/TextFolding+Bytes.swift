extension TextFolding {
    /// Calls the body with the folded bytes of a UTF-8 text. Folds plain text (`isPlainText`) without ICU, and other
    /// text by `fold`. O(n).
    package func withFolded(_ text: RawSpan, _ body: (RawSpan) throws -> Bool) rethrows -> Bool {
        if isEmpty { return try body(text) }
        return try text.withUnsafeBytes { text in
            guard text.isPlainText else {
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
}

extension UnsafeRawBufferPointer {
    /// Whether the text consists of ASCII, kana, CJK punctuation and U+3400 to U+9FFF (mostly ideographs), without
    /// combining marks. Among these, case folding changes only A to Z, NFC changes nothing, and each is a grapheme of
    /// its own, except for CR LF. O(n).
    package var isPlainText: Bool {
        var index = 0
        while index < count {
            // Checks eight bytes of ASCII in one step.
            if index + 8 <= count, loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 {
                index += 8
                continue
            }
            let byte = self[index]
            if byte < 0x80 {
                index += 1
                continue
            }
            guard byte >= 0xE3, byte <= 0xE9, index + 2 < count else { return false }
            let scalar =
                UInt32(byte & 0x0F) << 12 | UInt32(self[index + 1] & 0x3F) << 6 | UInt32(self[index + 2] & 0x3F)
            switch scalar {
            case 0x302A...0x302F, 0x3099, 0x309A: return false  // combining marks
            case 0x3000...0x30FF, 0x3400...0x9FFF: index += 3
            default: return false
            }
        }
        return true
    }
}
