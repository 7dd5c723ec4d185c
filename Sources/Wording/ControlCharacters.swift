// Texts of stores, files and arguments may hold control characters, which must not reach a terminal.

extension String {
    /// On one line, with pictures in the place of control characters: ␛ for an escape, ␊ for a line end.
    package var visible: String { replacingControls(\.picture) }

    /// The same, but for line ends.
    package var withoutControls: String { replacingControls(except: "\n", \.picture) }

    /// On one line, with spaces in the place of control characters.
    package var withBlankControls: String { replacingControls { _ in " " } }

    /// JSON whose texts have no control characters left; the encoder leaves DEL and those above it.
    package var withControlsEscaped: String {
        replacingControls(except: "\n") { scalar in
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
        }
    }

    private func replacingControls(
        except kept: Unicode.Scalar? = nil, _ replacement: (Unicode.Scalar) -> String
    ) -> String {
        // Most texts have none, as their bytes show: C2 begins the control characters above ASCII, E2 line separators.
        guard utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0xC2 || $0 == 0xE2 }) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isControl && scalar != kept {
                text += replacement(scalar)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    package var isControl: Bool {
        [.control, .lineSeparator, .paragraphSeparator].contains(properties.generalCategory)
    }

    /// Unicode's picture of a control character; those above ASCII have none.
    fileprivate var picture: String {
        let picture = value < 0x20 ? Unicode.Scalar(0x2400 + value) : value == 0x7F ? "\u{2421}" : nil
        return String(picture ?? "\u{FFFD}")
    }
}
