extension String {
    /// The number of terminal columns that the text is assumed to take: two for East Asian wide characters and most
    /// emoji.
    package var displayWidth: Int { reduce(0) { $0 + $1.displayWidth } }

    /// Returns the visible form of the text, cut with "…" if it takes more than `width` columns.
    package func fitted(to width: Int) -> String {
        let plain = visible
        if plain.displayWidth <= width { return plain }
        var fitted = ""
        var used = 1
        for character in plain {
            used += character.displayWidth
            if used > width { break }
            fitted.append(character)
        }
        return fitted + "…"
    }

    package func padded(to width: Int, right: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - displayWidth))
        return right ? blanks + self : self + blanks
    }
}

/// The UTF-8 bytes of a text, cut like `fitted(to:)` does. Plain texts are cut without decoding them to a `String`.
package struct FittedText {
    package let bytes: [UInt8]
    package let width: Int

    package init(_ text: UnsafeRawBufferPointer, width: Int) {
        if let (end, used) = Self.cut(text, width: width) {
            bytes = end == text.count ? Array(text) : Array(text[..<end]) + "…".utf8
            self.width = used
            return
        }
        let fitted = String(decoding: text, as: UTF8.self).fitted(to: width)
        bytes = Array(fitted.utf8)
        self.width = fitted.displayWidth
    }

    /// Returns the offset at which a text is cut, which is its length if it fits, and the columns that it takes, with
    /// the "…" if it's cut. Returns nil if a character can't be decoded by `scalar(in:at:)`, or has no `width(of:)`.
    private static func cut(_ text: UnsafeRawBufferPointer, width: Int) -> (end: Int, used: Int)? {
        var used = 0
        // The offset of the first character that leaves no room for "…" after it, and the columns of the text that is
        // cut there.
        var cut: (end: Int, used: Int)?
        var offset = 0
        while offset < text.count {
            guard let (scalar, length) = scalar(in: text, at: offset), let columns = self.width(of: scalar) else {
                return nil
            }
            if cut == nil, used + columns > width - 1 { cut = (offset, used + 1) }
            used += columns
            offset += length
        }
        return used <= width ? (text.count, used) : cut
    }

    /// The width of some characters that don't combine with each other, such as printable ASCII characters, most kana
    /// and many ideographs; nil for other characters.
    private static func width(of scalar: UInt32) -> Int? {
        switch scalar {
        case 0x20...0x7E, 0xA1...0xAC, 0xAE...0x2FF, 0x2026: 1
        case 0x3001...0x3029, 0x3041...0x3096, 0x30A1...0x30FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xFF01...0xFF60: 2
        default: nil
        }
    }

    /// Decodes a scalar of one to three bytes. Returns nil for a longer scalar or incomplete bytes.
    private static func scalar(in text: UnsafeRawBufferPointer, at offset: Int) -> (scalar: UInt32, length: Int)? {
        let first = text[offset]
        if first < 0x80 { return (UInt32(first), 1) }
        func next(_ place: Int) -> UInt32? {
            guard offset + place < text.count, text[offset + place] & 0xC0 == 0x80 else { return nil }
            return UInt32(text[offset + place] & 0x3F)
        }
        if first & 0xE0 == 0xC0, let second = next(1) { return (UInt32(first & 0x1F) << 6 | second, 2) }
        if first & 0xF0 == 0xE0, let second = next(1), let third = next(2) {
            return (UInt32(first & 0x0F) << 12 | second << 6 | third, 3)
        }
        return nil
    }
}

extension Character {
    fileprivate var displayWidth: Int {
        guard let scalar = unicodeScalars.first else { return 0 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .control, .format: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF,
            0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
