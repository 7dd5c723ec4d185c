internal import FetchIndexEssentials
internal import FetchIndexValues

/// The form in which a time is written, apart from its value: 2024-01-02T03:04:05.000Z has a T, three digits after a
/// point, and the zone Z. Two different texts of one form are different times.
struct TimeForm: Equatable {
    private let separator: UInt8
    /// The point or comma before the digits, if any.
    private let mark: UInt8?
    private let digitCount: Int
    private let zone: [UInt8]

    private static let lengthOfDay = 10
    private static let lengthToSeconds = 19

    /// Finds the form of a text that was read as a date. Returns nil for a day alone, and for seconds since 2001. Also
    /// returns nil for more digits than the date can represent, because other texts of that form could be the same
    /// date.
    init?(_ text: String, of date: Date) {
        let exact = Array(date.exactText.utf8)
        let bytes = Array(text.utf8)
        guard exact.last == UInt8(ascii: "Z"), bytes.count >= Self.lengthToSeconds, bytes[13] == UInt8(ascii: ":")
        else { return nil }
        let digits = Self.digits(bytes)
        guard Self.withoutZeros(digits).elementsEqual(Self.withoutZeros(Self.digits(exact))) else { return nil }
        separator = bytes[Self.lengthOfDay]
        mark = digits.isEmpty ? nil : bytes[Self.lengthToSeconds]
        digitCount = digits.count
        zone = Array(bytes[digits.endIndex...])
    }

    /// Returns the digits of the fraction, which end at the zone.
    private static func digits(_ text: [UInt8]) -> ArraySlice<UInt8> {
        let rest = text[lengthToSeconds...]
        guard let mark = rest.first, mark == UInt8(ascii: ".") || mark == UInt8(ascii: ",") else {
            return rest.prefix(0)
        }
        return rest.dropFirst().prefix { (48...57).contains($0) }
    }

    private static func withoutZeros(_ digits: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        digits.prefix((digits.lastIndex { $0 != UInt8(ascii: "0") } ?? digits.startIndex - 1) - digits.startIndex + 1)
    }
}
