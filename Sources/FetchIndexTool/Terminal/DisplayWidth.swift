extension String {
    /// The columns that the text takes in a terminal: East Asian wide characters and emoji take two, marks none.
    var displayWidth: Int { reduce(0) { $0 + $1.displayWidth } }

    /// The text in so many columns at most, cut with "…" and made visible.
    func fitted(to width: Int) -> String {
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

    func padded(to width: Int, right: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - displayWidth))
        return right ? blanks + self : self + blanks
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
