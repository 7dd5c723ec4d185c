// Texts from stores, files and arguments may contain control characters, which must not reach a terminal, and invisible characters,
// which make different texts look the same.

extension String {
    /// The text on one line. Pictures replace ASCII control characters (␛ an escape, ␊ a line end), and � replaces
    /// other control characters and hidden characters.
    package var visible: String { replacingControls(\.picture) }

    /// Like `visible`, but line feeds are kept.
    package var withoutControls: String { replacingControls(except: "\n", \.picture) }

    /// The text on one line. Spaces replace control characters, and � replaces hidden characters.
    package var withBlankControls: String { replacingControls { $0.isControl ? " " : $0.picture } }

    /// JSON with escapes for the control characters that the encoder leaves (DEL and those above it) and for hidden characters.
    package var withControlsEscaped: String { replacingControls(except: "\n", \.escapedForJSON) }

    private func replacingControls(
        except kept: Unicode.Scalar? = nil, _ replacement: (Unicode.Scalar) -> String
    ) -> String {
        // A check of the bytes is enough for most texts.
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

    /// Whether the character is invisible but changes the text or its reading order: direction controls, zero-width
    /// spaces, soft hyphens, fillers. A joiner isn't hidden after a character that takes joiners. Variation selectors
    /// and tags of emoji aren't hidden either.
    package func isHidden(after previous: Unicode.Scalar?) -> Bool {
        switch value {
        case 0x200C, 0x200D: previous.map { !$0.takesJoiners } ?? true
        case 0xE0020...0xE007F: previous.map { $0.value != 0x1F3F4 && !(0xE0020...0xE007E).contains($0.value) } ?? true
        case 0xFFF9...0xFFFB: true
        default: properties.isDefaultIgnorableCodePoint && !properties.isVariationSelector
        }
    }

    /// Whether a joiner may follow this character: an emoji, U+FE0F, or a letter or a nonspacing mark in ranges with
    /// scripts that use joiners.
    private var takesJoiners: Bool {
        switch value {
        case 0x600...0x1CFF, 0xA840...0xABFF, 0x10A00...0x11FFF:
            properties.isAlphabetic || properties.generalCategory == .nonspacingMark
        case 0xFE0F: true
        default: value > 0xFF && properties.isEmoji
        }
    }

    /// The scalar as JSON escapes: one or two UTF-16 units.
    package var escapedForJSON: String {
        String(self).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
        }.joined()
    }

    /// Unicode's picture of an ASCII control character, or � for other characters.
    fileprivate var picture: String {
        let picture = value < 0x20 ? Unicode.Scalar(0x2400 + value) : value == 0x7F ? "\u{2421}" : nil
        return String(picture ?? "\u{FFFD}")
    }
}

/// Finds texts that may have control or hidden characters by their bytes, without decoding them.
package enum HiddenCharacters {
    /// Whether the UTF-8 bytes of a text may contain a control or hidden character. O(bytes).
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
                // U+2000 to U+206F contains visible punctuation, such as “, between spaces and controls.
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

    /// Whether the bytes E2 80 and the byte at `index` may be a zero-width space, a joiner, a direction control or a
    /// line separator.
    private static func isControlOfText(_ text: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        index >= text.count || (0x8B...0x8F).contains(text[index]) || (0xA8...0xAE).contains(text[index])
    }
}
