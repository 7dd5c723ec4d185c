// Texts of stores, files and arguments may hold control characters, which must not reach a terminal, and characters that nobody sees,
// which make a text look like another one.

extension String {
    /// On one line, with pictures in the place of control characters: ␛ for an escape, ␊ for a line end. Hidden characters are �.
    package var visible: String { replacingControls(\.picture) }

    /// The same, but for line ends.
    package var withoutControls: String { replacingControls(except: "\n", \.picture) }

    /// On one line, with spaces in the place of control characters, and � in that of hidden ones.
    package var withBlankControls: String { replacingControls { $0.isControl ? " " : $0.picture } }

    /// JSON whose texts have neither control characters left, since the encoder leaves DEL and those above it, nor hidden ones.
    package var withControlsEscaped: String { replacingControls(except: "\n", \.escapedForJSON) }

    private func replacingControls(
        except kept: Unicode.Scalar? = nil, _ replacement: (Unicode.Scalar) -> String
    ) -> String {
        // Most texts have none, as their bytes show.
        var copy = self
        guard copy.withUTF8({ HiddenCharacters.mayBeIn(UnsafeRawBufferPointer($0)) }) else { return self }
        var text = ""
        var previous: Unicode.Scalar?
        for scalar in unicodeScalars {
            let isHidden = scalar.isControl || scalar.isHidden(after: previous)
            if isHidden && scalar != kept {
                text += replacement(scalar)
            } else {
                text.unicodeScalars.append(scalar)
            }
            previous = isHidden ? nil : scalar
        }
        return text
    }
}

extension Unicode.Scalar {
    package var isControl: Bool {
        [.control, .lineSeparator, .paragraphSeparator].contains(properties.generalCategory)
    }

    /// Whether nobody sees the character, though it changes what a text is or the order in which it is read: controls of direction, blanks
    /// without width, soft hyphens, fillers. Joiners are no such characters where they shape the letters of a script or an emoji,
    /// nor are variants and tags of emoji.
    package func isHidden(after previous: Unicode.Scalar?) -> Bool {
        switch value {
        case 0x200C, 0x200D: previous.map { !$0.takesJoiners } ?? true
        case 0xE0020...0xE007F: previous.map { $0.value != 0x1F3F4 && !(0xE0020...0xE007E).contains($0.value) } ?? true
        case 0xFFF9...0xFFFB: true
        default: properties.isDefaultIgnorableCodePoint && !properties.isVariationSelector
        }
    }

    /// Letters and marks of the scripts from Arabic to Mongolian and others of India, and emoji with their variants.
    private var takesJoiners: Bool {
        switch value {
        case 0x600...0x1CFF, 0xA840...0xABFF, 0x10A00...0x11FFF:
            properties.isAlphabetic || properties.generalCategory == .nonspacingMark
        case 0xFE0F: true
        default: value > 0xFF && properties.isEmoji
        }
    }

    /// As JSON writes it, in one or two units of UTF-16.
    package var escapedForJSON: String {
        String(self).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
        }.joined()
    }

    /// Unicode's picture of a control character; those above ASCII have none.
    fileprivate var picture: String {
        let picture = value < 0x20 ? Unicode.Scalar(0x2400 + value) : value == 0x7F ? "\u{2421}" : nil
        return String(picture ?? "\u{FFFD}")
    }
}

/// A look at bytes, so that texts without such characters need not be taken apart.
package enum HiddenCharacters {
    /// Whether a text in UTF-8 has bytes with which control and hidden characters begin. O(bytes).
    package static func mayBeIn(_ text: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte < 0x20 || byte == 0x7F { return true }
            index += 1
            if byte < 0xC2 { continue }
            let second = index < text.count ? text[index] : 0
            let isSuspect =
                switch byte {
                case 0xC2: second < 0xA0 || second == 0xAD
                case 0xCD: second == 0x8F
                case 0xD8: second == 0x9C
                case 0xE1: second == 0x85 || second == 0x9E || second == 0xA0
                // Punctuation like “ is between the blanks and the controls of U+2000 to U+206F.
                case 0xE2: second == 0x80 ? isControlOfText(text, index + 1) : second == 0x81
                case 0xE3: second == 0x85
                case 0xEF: second >= 0xBB
                case 0xF0: second == 0x9B || second == 0x9D
                case 0xF3: true
                default: false
                }
            if isSuspect { return true }
        }
        return false
    }

    /// Whether the last byte of E2 80 xx is that of a blank without width, or of a control of direction or lines.
    private static func isControlOfText(_ text: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        index >= text.count || (0x8B...0x8F).contains(text[index]) || (0xA8...0xAE).contains(text[index])
    }
}
