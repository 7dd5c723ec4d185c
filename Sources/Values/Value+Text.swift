internal import FetchIndexEssentials

extension Value: CustomStringConvertible {
    /// The value as plain text: numbers in plain decimal (doubles outside of the range of `Decimal` with an exponent,
    /// or as inf, -inf or nan), true as "1" and false as "0", dates as ISO 8601 in UTC to the millisecond (very distant
    /// ones in seconds after 2001), data in hexadecimal, null as "".
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

    /// Parses a value of a type from the form of `description`, and from some other forms, such as "yes" for a boolean.
    /// Returns nil if the text isn't such a value, for doubles that aren't finite, and for dates outside of the years 0
    /// to 9999.
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

    private static let nonFiniteDoubles: [String: Double] = ["inf": .infinity, "-inf": -.infinity, "nan": .nan]

    /// Parses a text for an import or a migration: a date in the forms that `Date.init(exactText:)` reads, a double or
    /// a decimal in decimal digits, other values in the forms that `init(_:as:)` reads, and also the doubles inf, -inf
    /// and nan. Returns nil if the text isn't such a value, for a double that wouldn't print the same digits again, for
    /// a decimal of more than 38 digits or whose last significant digit is above 10^127 or below 10^-127, and for a URL
    /// that would print differently.
    package init?(exactly text: String, as type: ValueType) {
        switch type {
        case .date:
            guard let date = Date(exactText: text) else { return nil }
            self = .date(date)
            return
        case .url:
            self.init(text, as: type)
            // Rejects a URL that would print differently.
            if description != text { return nil }
            return
        case .double where Self.nonFiniteDoubles[text] != nil:
            self = .double(Self.nonFiniteDoubles[text] ?? .nan)
            return
        case .double, .decimal: break
        default:
            self.init(text, as: type)
            return
        }
        var text = text
        let isExact = text.withUTF8 { text in
            NumberText(UnsafeRawBufferPointer(text)).map { type == .double ? $0.isDouble : $0.isDecimal } ?? false
        }
        if !isExact { return nil }
        self.init(text, as: type)
    }

    private static let booleans = [
        "true": true, "false": false, "yes": true, "no": false, "1": true, "0": false,
    ]

    /// Whether the whole text is [sign] digits [e [sign] digits], with at most one point before, in or after the first
    /// digits. Foundation's parser ignores text after a number.
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
    /// The shortest decimal digits that parse to an equal double, without ".0", and without an exponent if the double
    /// is within the range of `Decimal`.
    var plainDecimal: String {
        if !isFinite { return description }
        if self == rounded() && magnitude < 0x1p53 { return String(Int64(self)) }
        let text = description
        if text.hasSuffix(".0") { return String(text.dropLast(2)) }
        guard text.contains("e"), let decimal = Decimal(string: text) else { return text }
        return decimal.description
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
