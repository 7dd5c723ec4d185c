/// The version of time zone data, such as 2025b: a year, and letters that count the releases of the year.
package struct ZoneDataVersion: Comparable, Sendable, CustomStringConvertible {
    package let description: String
    private let year: Int
    private let release: String

    /// Parses a text that begins with a version; nil if it doesn't, or if it has more than 64 bytes, blanks, or
    /// characters that aren't printable ASCII. Comparisons ignore the text after the letters.
    package init?(_ text: some StringProtocol) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let letters = text[digits.endIndex...].prefix { ("a"..."z").contains($0) }
        guard digits.utf8.count == 4, let year = Int(digits), !letters.isEmpty, text.utf8.count <= 64,
            text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) })
        else { return nil }
        (self.year, release, description) = (year, String(letters), String(text))
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.year, left.release.utf8.count, left.release) < (right.year, right.release.utf8.count, right.release)
    }

    package static func == (left: Self, right: Self) -> Bool {
        (left.year, left.release) == (right.year, right.release)
    }
}
