internal import FetchIndexEssentials
internal import FetchIndexValues

/// A key of Foundation's NSString, NSNumber or NSURL with which a key path may end: `name.length`, `scores.@sum.self`,
/// `code.intValue`.
enum FoundationKey: String {
    case itself = "self"
    case length
    case intValue, integerValue, longLongValue
    case floatValue, doubleValue
    case boolValue
    case stringValue, description
    case absoluteString, scheme, host, path, query, fragment
    case lastPathComponent, pathExtension

    /// The type of the key's result for a value of a type; nil if that type doesn't have the key.
    func type(of type: ValueType) -> ValueType? {
        switch self {
        case .itself: type
        case .description: .string
        case .length: type == .string ? .integer : nil
        case .stringValue: type.isNumber ? .string : nil
        case .intValue, .integerValue, .longLongValue: type.isNumber || type == .string ? .integer : nil
        case .floatValue, .doubleValue: type.isNumber || type == .string ? .double : nil
        case .boolValue: type.isNumber || type == .string ? .boolean : nil
        case .absoluteString, .scheme, .host, .path, .query, .fragment: type == .url ? .string : nil
        case .lastPathComponent, .pathExtension: type == .url || type == .string ? .string : nil
        }
    }

    /// The key's result for a value; null if the value doesn't have the key.
    func value(of value: Value) -> Value {
        guard let type = value.type, self.type(of: type) != nil else { return .null }
        switch self {
        case .itself: return value
        case .description, .stringValue: return .string(value.description)
        case .length:
            guard case .string(let text) = value else { return .null }
            return .integer(Int64(text.utf16.count))
        case .intValue: return .integer(Int64(Int32(clamping: Self.integer(value))))
        case .integerValue, .longLongValue: return .integer(Self.integer(value))
        case .floatValue: return .double(Double(Float(Self.double(value))))
        case .doubleValue: return .double(Self.double(value))
        case .boolValue: return .boolean(Self.boolean(value))
        default: return part(of: value).map(Value.string) ?? .null
        }
    }

    /// A component of a URL, or of a text taken as a file's path; nil if it's missing.
    private func part(of value: Value) -> String? {
        let url: URL
        switch value {
        case .url(let found): url = found
        case .string(let path): url = URL(fileURLWithPath: path)
        default: return nil
        }
        return switch self {
        case .absoluteString: url.absoluteString
        case .scheme: url.scheme
        case .host: url.host
        case .path: url.path
        case .query: url.query
        case .fragment: url.fragment
        case .lastPathComponent: url.lastPathComponent
        case .pathExtension: url.pathExtension
        default: nil
        }
    }

    /// The integer at the beginning of a text, after blanks (0 if it's missing), or a number without its fraction.
    /// Clamped to 64 bits.
    private static func integer(_ value: Value) -> Int64 {
        switch value {
        case .integer(let number): return number
        case .boolean(let value): return value ? 1 : 0
        case .string(let text):
            let digits = text.drop { $0.isWhitespace }
            let sign = digits.prefix { $0 == "-" || $0 == "+" }.prefix(1)
            let number = digits.dropFirst(sign.count).prefix { $0.isASCII && $0.isNumber }
            if let exact = Int64(sign + number) { return exact }
            return number.isEmpty ? 0 : sign == "-" ? .min : .max
        default:
            let number = double(value)
            if number.isNaN { return 0 }
            return number >= 0x1p63 ? .max : number < -0x1p63 ? .min : Int64(number)
        }
    }

    /// The maximum length of a number at the beginning of a text; further characters are ignored.
    private static let mostDigits = 400

    private static func double(_ value: Value) -> Double {
        switch value {
        case .double(let number): return number
        case .integer(let number): return Double(number)
        case .boolean(let value): return value ? 1 : 0
        case .decimal(let number): return Double(number.description) ?? .nan
        case .string(let text):
            let start = text.drop { $0.isWhitespace }
            var end = start.endIndex
            // Tries the longest prefix first, until one is a number.
            let candidates = start.prefix(mostDigits).prefix { $0.isASCII && ($0.isNumber || "+-.eE".contains($0)) }
            end = candidates.endIndex
            while end > start.startIndex {
                if let number = Double(start[..<end]) { return number }
                end = start.index(before: end)
            }
            return 0
        default: return 0
        }
    }

    /// A text is true if it begins with Y, y, T, t or a digit from 1 to 9, after optional blanks, a sign and zeros. A
    /// number is true if it isn't 0.
    private static func boolean(_ value: Value) -> Bool {
        guard case .string(let text) = value else { return double(value) != 0 }
        let start = text.drop { $0.isWhitespace }
        let rest = (start.first == "-" || start.first == "+" ? start.dropFirst() : start).drop { $0 == "0" }
        return rest.first.map { "YyTt123456789".contains($0) } ?? false
    }
}
