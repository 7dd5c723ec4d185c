internal import FetchIndexValues

/// Infers the types of the members of JSON lines.
///
/// A member of numbers is an integer if all are written as whole numbers and fit; otherwise a double if doubles print
/// the digits of all of them again, because most readers of JSON use doubles; otherwise a decimal; otherwise a text of
/// digits. A key is never a double or a boolean. A member with texts, or with numbers and booleans, is text.
struct JSONTypes {
    private struct Kinds: OptionSet {
        let rawValue: UInt8

        static let integer = Kinds(rawValue: 1)
        static let double = Kinds(rawValue: 2)
        static let decimal = Kinds(rawValue: 4)
        static let boolean = Kinds(rawValue: 8)
    }

    private let key: String?
    /// The kinds that fit all values of each member, by the member's number; nil if all are null.
    private var kinds: [Kinds?] = []
    /// The names of the members noted so far.
    private var names: [String] = []

    init(key: String? = nil) { self.key = key }

    /// Notes the values of the last line that was read.
    mutating func note(_ line: borrowing JSONMembers) {
        for name in line.names.dropFirst(names.count) {
            names.append(name)
            kinds.append(nil)
        }
        for number in line.present { if let value = line.values[number] { note(value, of: number) } }
    }

    private mutating func note(_ value: JSONToken, of number: Int) {
        let known = kinds[number]
        if known == [] { return }
        guard let found = kindsOf(value, isKey: names[number] == key) else { return }
        kinds[number] = known?.intersection(found) ?? found
    }

    private func kindsOf(_ value: JSONToken, isKey: Bool) -> Kinds? {
        switch value {
        case .null: return nil
        case .boolean: return isKey ? [] : .boolean
        case .text: return []
        case .number(let digits):
            guard let number = NumberText(digits), !isKey || number.isCanonical else { return [] }
            var kinds: Kinds = []
            if !number.isNegativeZero {
                if number.integer != nil, number.isWritten(asWhole: digits) { kinds.insert(.integer) }
                if number.isDecimal { kinds.insert(.decimal) }
            }
            if !isKey && number.isDouble { kinds.insert(.double) }
            return kinds
        }
    }

    /// Adds what another file's lines told.
    mutating func merge(_ other: JSONTypes) {
        for (name, found) in zip(other.names, other.kinds) {
            guard let number = names.firstIndex(of: name) else {
                names.append(name)
                kinds.append(found)
                continue
            }
            guard let found else { continue }
            kinds[number] = kinds[number]?.intersection(found) ?? found
        }
    }

    /// The types of all members that were found.
    var types: [String: ValueType] {
        Dictionary(uniqueKeysWithValues: zip(names, kinds.map(type)))
    }

    private func type(of kinds: Kinds?) -> ValueType {
        guard let kinds else { return .string }
        let order: [(Kinds, ValueType)] = [
            (.integer, .integer), (.double, .double), (.decimal, .decimal), (.boolean, .boolean),
        ]
        return order.first { kinds.contains($0.0) }?.1 ?? .string
    }
}
