internal import CFetchIndexICU

/// The differences that a text comparison ignores: the modifiers [c] and [d] of predicates.
public struct TextFolding: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Ignores case, by full case folding: ß equals ss.
    public static let caseInsensitive = TextFolding(rawValue: 1)
    /// Ignores the diacritics that Unicode's decomposition separates from most Latin, Greek and Cyrillic letters: é
    /// equals e. か and が stay different letters, as do ø and o.
    public static let diacriticInsensitive = TextFolding(rawValue: 2)
}

extension TextFolding {
    /// The version of ICU, whose Unicode tables affect folding and regular expressions.
    package static var version: String { ICUVersion.library }

    /// The folded UTF-8 of a text: two texts are equal under the folding when these bytes are equal. O(n).
    package func fold(_ text: String) -> [UInt8] {
        if isEmpty { return Array(text.utf8) }
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            guard contains(.caseInsensitive) else { return Array(text.utf8) }
            return text.utf8.map { (65...90).contains($0) ? $0 + 32 : $0 }
        }
        var utf16 = Self.normalize(Array(text.utf16), composed: false)
        if contains(.diacriticInsensitive) { utf16 = Self.withoutDiacritics(utf16) }
        if contains(.caseInsensitive) {
            utf16 = Self.transform(utf16) { fi_fold_case($0, $1, $2, $3) }
        }
        return Array(String(decoding: Self.normalize(utf16, composed: true), as: UTF16.self).utf8)
    }

    private static func withoutDiacritics(_ decomposed: [UInt16]) -> [UInt16] {
        var kept = ""
        var isAfterLetter = false
        for scalar in String(decoding: decomposed, as: UTF16.self).unicodeScalars {
            if scalar.properties.generalCategory == .nonspacingMark {
                if !isAfterLetter { kept.unicodeScalars.append(scalar) }
            } else {
                isAfterLetter = losesDiacritics(scalar)
                kept.unicodeScalars.append(scalar)
            }
        }
        return Array(kept.utf16)
    }

    /// Whether folding removes the diacritics of a letter: true in most Latin, Greek and Cyrillic blocks.
    private static func losesDiacritics(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x41...0x5A, 0x61...0x7A, 0xC0...0x24F, 0x1E00...0x1EFF: true
        case 0x370...0x3FF, 0x1F00...0x1FFF: true
        case 0x400...0x52F, 0x1C80...0x1C8F, 0x2DE0...0x2DFF, 0xA640...0xA69F: true
        default: false
        }
    }

    private static func normalize(_ text: [UInt16], composed: Bool) -> [UInt16] {
        transform(text) { fi_normalize(composed, $0, $1, $2, $3) }
    }

    /// Calls an ICU function that returns the length of its result, and repeats the call with a larger buffer if
    /// needed. Returns the text unchanged if the function fails.
    private static func transform(
        _ text: [UInt16],
        _ function: (UnsafePointer<UInt16>?, Int32, UnsafeMutablePointer<UInt16>?, Int32) -> Int32
    ) -> [UInt16] {
        var result = [UInt16](repeating: 0, count: text.count + 16)
        while true {
            let needed = result.withUnsafeMutableBufferPointer { result in
                text.withUnsafeBufferPointer { text in
                    Int(function(text.baseAddress, Int32(text.count), result.baseAddress, Int32(result.count)))
                }
            }
            if needed < 0 { return text }
            if needed <= result.count { return Array(result.prefix(needed)) }
            result = [UInt16](repeating: 0, count: needed)
        }
    }
}
