package import SystemBasics

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

    /// Reads the text of a value of a type, as `description` writes it; nil when it is not valid.
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
            guard Self.namesADecimal(text), let value = Decimal(string: text), !value.isNaN else {
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

    /// Whether the text is [sign] digits [. digits] [e [sign] digits]: Foundation reads what such a text begins with.
    private static func namesADecimal(_ text: String) -> Bool {
        var rest = text.utf8[...]
        func skipSign() { if rest.first == 43 || rest.first == 45 { rest = rest.dropFirst() } }
        func skipDigits() -> Int {
            let digits = rest.prefix { (48...57).contains($0) }.count
            rest = rest.dropFirst(digits)
            return digits
        }
        skipSign()
        var digits = skipDigits()
        if rest.first == 46 {
            rest = rest.dropFirst()
            digits += skipDigits()
        }
        if digits == 0 { return false }
        if rest.first == 69 || rest.first == 101 {
            rest = rest.dropFirst()
            skipSign()
            if skipDigits() == 0 { return false }
        }
        return rest.isEmpty
    }
}

extension Double {
    /// The shortest decimal that reads back as this number, without an exponent and without ".0".
    var plainDecimal: String {
        if !isFinite { return description }
        if self == rounded() && magnitude < 0x1p53 { return String(Int64(self)) }
        let text = description
        if text.hasSuffix(".0") { return String(text.dropLast(2)) }
        guard text.contains("e"), let decimal = Decimal(string: text) else { return text }
        return decimal.description
    }
}

extension Date {
    /// ISO 8601 in UTC, with milliseconds when there are any: 2016-05-16T01:30:00Z. The calendar is Gregorian throughout.
    package var iso8601: String {
        let seconds = timeIntervalSinceReferenceDate
        guard seconds.magnitude < 9e15 else { return "\(seconds) seconds after 2001" }
        let hasFraction = seconds != seconds.rounded(.down)
        let milliseconds = Int((seconds * 1000).rounded()) + Self.referenceSeconds * 1000
        let day = (milliseconds - (milliseconds < 0 ? 86_399_999 : 0)) / 86_400_000
        let (time, fraction) = (milliseconds - day * 86_400_000).quotientAndRemainder(dividingBy: 1000)
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
        }
        let clock = [time / 3600, time / 60 % 60, time % 60].map { padded($0, 2) }.joined(separator: ":")
        var name: [UInt8] = []
        CalendarUnit.day.appendName(ofFirst: day, to: &name)
        return "\(String(decoding: name, as: UTF8.self))T\(clock)\(hasFraction ? "." + padded(fraction, 3) : "")Z"
    }

    /// The reference date, counted since 1970.
    private static let referenceSeconds = 978_307_200

    /// ISO 8601: a day, or a day and a time with "Z" or an offset, with or without a fraction of a second.
    /// A time without a zone is UTC.
    package init?(iso8601 text: String) {
        guard let day = Date.daysSince1970(named: text) else { return nil }
        let midnight = Double(day * 86_400 - Date.referenceSeconds)
        if text.utf8.count == 10 {
            self.init(timeIntervalSinceReferenceDate: midnight)
            return
        }
        // Foundation reads the time; of old days it would take the Julian calendar's.
        guard Date.namesATime(text.utf8.dropFirst(11)) else { return nil }
        let (fraction, zone) = Date.fraction(text.utf8.dropFirst(19))
        let anyDay = "2001-01-01" + String(Substring(text.utf8.dropFirst(10).prefix(9)))
        let zoned = anyDay + (zone.isEmpty ? "Z" : String(Substring(zone)))
        guard let fraction, let time = try? Date.ISO8601FormatStyle().parse(zoned) else { return nil }
        // Added last, all its digits count.
        self.init(timeIntervalSinceReferenceDate: midnight + time.timeIntervalSinceReferenceDate + fraction)
    }

    /// The fraction of a second that a text begins with, nil when it has a point and no digits; and what follows.
    private static func fraction(_ text: Substring.UTF8View) -> (Double?, Substring.UTF8View) {
        guard text.first == 46 else { return (0, text) }
        let digits = text.dropFirst().prefix { (48...57).contains($0) }
        let fraction = digits.isEmpty ? nil : Double("0." + String(Substring(digits)))
        return (fraction, text.dropFirst(1 + digits.count))
    }

    /// The day that a text begins with, like 2016-05-16, if there is such a day.
    private static func daysSince1970(named text: String) -> Int? {
        let parts = text.utf8.prefix(10).split(separator: 45, omittingEmptySubsequences: false)
        guard parts.map(\.count) == [4, 2, 2], !text.utf8.prefix(10).contains(43), let year = Int(Substring(parts[0])),
            let month = Int(Substring(parts[1])),
            let day = Int(Substring(parts[2])), (1...12).contains(month)
        else { return nil }
        let first = CalendarDay.daysSince1970(year: year, month: month)
        let length = CalendarDay.daysSince1970(year: year, month: month + 1) - first
        return (1...length).contains(day) ? first + day - 1 : nil
    }

    /// Whether the text begins with hours, minutes and seconds that a day has: Foundation takes 25 o'clock for the next.
    private static func namesATime(_ text: Substring.UTF8View) -> Bool {
        let parts = text.prefix(8).split(separator: 58, omittingEmptySubsequences: false)
        let numbers = parts.compactMap { Int(Substring($0)) }
        return parts.map(\.count) == [2, 2, 2] && numbers.count == 3 && numbers[0] < 24 && numbers[1] < 60
            && numbers[2] < 60 && !text.prefix(8).contains(43)
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
