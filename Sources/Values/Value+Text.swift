#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension Value: CustomStringConvertible {
    /// The value as plain text: numbers in plain decimal, true as "1" and false as "0", dates as ISO 8601 in UTC,
    /// data in hexadecimal, null as "".
    public var description: String {
        switch self {
        case .null: ""
        case .boolean(let value): value ? "1" : "0"
        case .integer(let value): String(value)
        case .double(let value): value.plainDecimal
        case .decimal(let value): value.description
        case .date(let value): value.iso8601
        case .string(let value): value
        case .data(let value): value.hexadecimal
        case .uuid(let value): value.uuidString
        case .url(let value): value.absoluteString
        }
    }

    /// Reads the text of a value of a type, as `description` writes it and as catalogues do; nil when it is none.
    public init?(_ text: String, as type: ValueType) {
        switch type {
        case .string: self = .string(text)
        case .integer:
            guard let value = Int64(text) else { return nil }
            self = .integer(value)
        case .double:
            guard let value = Double(text), value.isFinite else { return nil }
            self = .double(value)
        case .decimal:
            guard text.utf8.allSatisfy({ Self.isDecimalCharacter($0) }), let value = Decimal(string: text) else {
                return nil
            }
            self = .decimal(value)
        case .boolean:
            guard let value = Self.booleans[text.lowercased()] else { return nil }
            self = .boolean(value)
        case .date:
            guard let value = Date(iso8601: text) else { return nil }
            self = .date(value)
        case .data:
            guard let value = Data(hexadecimal: text) else { return nil }
            self = .data(value)
        case .uuid:
            guard let value = UUID(uuidString: text) else { return nil }
            self = .uuid(value)
        case .url:
            guard !text.isEmpty, let value = URL(string: text) else { return nil }
            self = .url(value)
        }
    }

    private static let booleans = [
        "true": true, "false": false, "yes": true, "no": false, "1": true, "0": false,
    ]

    private static func isDecimalCharacter(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || [43, 45, 46, 69, 101].contains(byte)
    }
}

extension Double {
    /// The shortest decimal that reads back as this number, without an exponent and without ".0".
    var plainDecimal: String {
        if !isFinite { return description }
        if self == rounded() && magnitude < 1e15 { return String(Int64(self)) }
        let text = description
        guard text.contains("e"), let decimal = Decimal(string: text) else { return text }
        return decimal.description
    }
}

extension Date {
    /// ISO 8601 in UTC, with milliseconds when there are any: 2016-05-16T01:30:00Z.
    package var iso8601: String {
        let hasFraction = timeIntervalSinceReferenceDate != timeIntervalSinceReferenceDate.rounded(.down)
        return formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction))
    }

    /// ISO 8601: a day, or a day and a time with "Z" or an offset, with or without a fraction of a second.
    /// A time without a zone is UTC.
    package init?(iso8601 text: String) {
        guard Date.namesADay(text) else { return nil }
        let styles: [Date.ISO8601FormatStyle] =
            text.utf8.count <= 10
            ? [Date.ISO8601FormatStyle().year().month().day()]
            : [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)]
        let zoned = text.utf8.count > 10 && !Date.hasZone(text) ? text + "Z" : text
        for style in styles {
            if let date = try? style.parse(zoned) {
                self = date
                return
            }
        }
        return nil
    }

    /// Whether the text begins with a day that is in its month: Foundation takes 31 February for 2 March.
    private static func namesADay(_ text: String) -> Bool {
        let parts = text.utf8.prefix(10).split(separator: 45, omittingEmptySubsequences: false)
        guard parts.count == 3, let year = Int(Substring(parts[0])), let month = Int(Substring(parts[1])),
            let day = Int(Substring(parts[2])), (1...12).contains(month)
        else { return false }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return (1...days[month - 1]).contains(day)
    }

    private static func hasZone(_ text: String) -> Bool {
        text.hasSuffix("Z") || text.utf8.dropFirst(10).contains { $0 == 43 || $0 == 45 }
    }
}

extension Data {
    var hexadecimal: String {
        map { byte in
            let digits = String(byte, radix: 16)
            return digits.utf8.count == 1 ? "0" + digits : digits
        }.joined()
    }

    init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes = Data(capacity: digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index].hexadecimalDigit, let low = digits[index + 1].hexadecimalDigit else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        self = bytes
    }
}

extension UInt8 {
    fileprivate var hexadecimalDigit: UInt8? {
        switch self {
        case 48...57: self - 48
        case 65...70: self - 55
        case 97...102: self - 87
        default: nil
        }
    }
}
