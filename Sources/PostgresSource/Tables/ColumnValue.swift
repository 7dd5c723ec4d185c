internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexPlatform
package import FetchIndexValues

/// Converts values between the source's texts and the store.
package enum ColumnValue {
    /// The type that values of a PostgreSQL type, given by its number (OID), have in the store; string if the type has
    /// no counterpart. The numbers are from PostgreSQL's catalogue file pg_type.dat.
    package static func type(of number: UInt32) -> ValueType {
        switch number {
        case 16: .boolean
        case 17: .data
        case 20, 21, 23, 26: .integer
        case 700, 701: .double
        case 1700: .decimal
        case 1082, 1114, 1184: .date
        case 2950: .uuid
        default: .string
        }
    }

    /// Appends the value of a text to a record; returns false if the text isn't a value of the type.
    static func append(_ text: UnsafeRawBufferPointer, as type: ValueType, to builder: inout RowBuilder) -> Bool {
        switch type {
        case .string:
            guard text.firstInvalidUTF8 == nil else { return false }
            builder.appendBytes(text.bytes)
        case .integer:
            guard let number = integer(text) else { return false }
            builder.appendInteger(number)
        default:
            guard let value = value(text, as: type) else { return false }
            builder.append(value)
        }
        return true
    }

    package static func value(_ text: UnsafeRawBufferPointer, as type: ValueType) -> Value? {
        switch type {
        case .integer: return integer(text).map { .integer($0) }
        case .boolean: return text.count == 1 ? .boolean(text[0] == UInt8(ascii: "t")) : nil
        case .date: return date(text).map { .date($0) }
        default: break
        }
        guard let string = String(validating: text, as: UTF8.self) else { return nil }
        switch type {
        case .string: return .string(string)
        case .double:
            switch string {
            case "NaN": return .double(.nan)
            case "Infinity": return .double(.infinity)
            case "-Infinity": return .double(-.infinity)
            default: return Double(string).map { .double($0) }
            }
        case .decimal: return decimal(string).map { .decimal($0) }
        case .data: return string.hasPrefix("\\x") ? Value(String(string.dropFirst(2)), as: .data) : nil
        default: return Value(string, as: type)
        }
    }

    /// Returns the end of an error message about a text that isn't a value of the type.
    static func reason(_ text: UnsafeRawBufferPointer, _ type: ValueType) -> String {
        if text.firstInvalidUTF8 != nil { return "is not UTF-8" }
        let shown = String(decoding: text.prefix(60), as: UTF8.self) + (text.count > 60 ? "…" : "")
        switch type {
        case .decimal: return "is \(shown), not a decimal of at most 38 digits"
        default: return "is \(shown), not \(type.nameWithArticle)"
        }
    }

    private static func integer(_ text: UnsafeRawBufferPointer) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        var number: Int64 = 0
        var hasDigits = false
        for byte in text.dropFirst(isNegative ? 1 : 0) {
            guard (48...57).contains(byte) else { return nil }
            let (shifted, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, sumOverflows) = shifted.subtractingReportingOverflow(Int64(byte - 48))
            if overflows || sumOverflows { return nil }
            (number, hasDigits) = (sum, true)
        }
        // `number` is the negative of the digits' value, because the least number has no positive counterpart.
        if !hasDigits || !isNegative && number == .min { return nil }
        return isNegative ? number : -number
    }

    /// Reads a decimal; returns nil if the text isn't a number, or if its digits don't fit.
    private static func decimal(_ text: String) -> Decimal? {
        guard case .decimal(let number)? = Value(text, as: .decimal) else { return nil }
        let digits = text.utf8.filter { (48...57).contains($0) }.drop { $0 == 48 }
        // With more than 34 digits, only trailing zeros may be lost.
        if digits.count > 34, significant(text) != significant(number.description) { return nil }
        return number
    }

    /// A number's text without trailing zeros after the decimal point.
    private static func significant(_ text: String) -> String {
        guard text.contains(".") else { return text }
        let digits = text.reversed().drop { $0 == "0" }
        return String((digits.first == "." ? digits.dropFirst() : digits).reversed())
    }

    /// Reads a day or a time in the session's ISO style: 2024-01-31, or 2024-01-31 12:34:56.789012, which +00 may
    /// follow; BC may end each of them. A time without a zone is taken for UTC. A fraction is read in the same way as
    /// in imported files. Returns nil for texts of another form, such as infinity. PostgreSQL documentation, "Date/Time
    /// Output".
    private static func date(_ text: UnsafeRawBufferPointer) -> Date? {
        var reader = DateReader(text)
        guard var year = reader.number(), reader.skip("-"), let month = reader.number(), (1...12).contains(month),
            reader.skip("-"), let day = reader.number(), year > 0
        else { return nil }
        var seconds = 0
        var fraction = UnsafeRawBufferPointer(start: nil, count: 0)
        if reader.skip(" "), let hour = reader.number() {
            guard reader.skip(":"), let minute = reader.number(), reader.skip(":"), let second = reader.number() else {
                return nil
            }
            seconds = hour * 3600 + minute * 60 + second
            if reader.skip(".") { fraction = reader.digits() }
            if reader.skip("+") { guard reader.number() == 0 else { return nil } }
            _ = reader.skip(" ")
        }
        if reader.skip("B"), reader.skip("C") { year = 1 - year }
        guard reader.isAtEnd else { return nil }
        let days = CalendarDay.daysSince1970(year: year, month: month) + day - 1
        return Date(daysSince1970: days, seconds: seconds, fraction: fraction)
    }
}

private struct DateReader {
    private let text: UnsafeRawBufferPointer
    private var place = 0

    init(_ text: UnsafeRawBufferPointer) { self.text = text }

    var isAtEnd: Bool { place == text.count }

    mutating func skip(_ letter: Unicode.Scalar) -> Bool {
        guard place < text.count, text[place] == UInt8(ascii: letter) else { return false }
        place += 1
        return true
    }

    mutating func number() -> Int? {
        var number: Int?
        while place < text.count, (48...57).contains(text[place]), number ?? 0 < 1_000_000 {
            number = (number ?? 0) * 10 + Int(text[place] - 48)
            place += 1
        }
        return number
    }

    mutating func digits() -> UnsafeRawBufferPointer {
        let start = place
        while place < text.count, (48...57).contains(text[place]) { place += 1 }
        return UnsafeRawBufferPointer(rebasing: text[start..<place])
    }
}
