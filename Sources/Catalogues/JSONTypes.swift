internal import FetchIndexValues

/// Finds the types of the members of JSON lines.
///
/// A number is an integer, else a double if all are what doubles print, as most readers of JSON have it; else a decimal, or a text of
/// its digits. A key is no double. Members whose values differ in kind are text.
struct JSONTypes {
    private struct Kinds: OptionSet {
        let rawValue: UInt8

        static let integer = Kinds(rawValue: 1)
        static let double = Kinds(rawValue: 2)
        static let decimal = Kinds(rawValue: 4)
        static let boolean = Kinds(rawValue: 8)
    }

    private let key: String?
    /// What all values of a member can be; nil when all are null.
    private var kinds: [String: Kinds?] = [:]

    init(key: String? = nil) { self.key = key }

    mutating func note(_ value: JSONScalar, of name: String) {
        guard let found = kindsOf(value, isKey: name == key) else {
            if kinds[name] == nil { kinds[name] = .some(nil) }
            return
        }
        kinds[name] = (kinds[name] ?? nil)?.intersection(found) ?? found
    }

    private func kindsOf(_ value: JSONScalar, isKey: Bool) -> Kinds? {
        switch value {
        case .null: return nil
        case .boolean: return isKey ? [] : .boolean
        case .string: return []
        case .number(var digits):
            return digits.withUTF8 { text in
                guard let number = NumberText(UnsafeRawBufferPointer(text)), !isKey || number.isCanonical else {
                    return []
                }
                var kinds: Kinds = []
                if !number.isNegativeZero {
                    if number.integer != nil, number.isWritten(asWhole: UnsafeRawBufferPointer(text)) {
                        kinds.insert(.integer)
                    }
                    if number.isDecimal { kinds.insert(.decimal) }
                }
                if !isKey && number.isDouble { kinds.insert(.double) }
                return kinds
            }
        }
    }

    /// The type of each member that was met.
    var types: [String: ValueType] {
        kinds.mapValues { kinds in
            guard let kinds else { return .string }
            let order: [(Kinds, ValueType)] = [
                (.integer, .integer), (.double, .double), (.decimal, .decimal), (.boolean, .boolean),
            ]
            return order.first { kinds.contains($0.0) }?.1 ?? .string
        }
    }
}
