package import FetchIndexValues

/// Infers the types of columns from the texts of all rows. For a key, values of the type must print each text exactly,
/// so that different texts stay different; for another column, numbers must print a text of equal value.
///
/// A key is an integer or a decimal if the type prints every text as written; otherwise it is text. Another column is a
/// number if every text is plain notation and the type prints an equal number. An integer is preferred to a decimal,
/// and a decimal to a double, but a text with a point or an exponent isn't an integer. If every text is true or false,
/// or every text is a date, the column is of that type. All remaining columns are text.
package struct TypeInference {
    private struct Candidates: OptionSet {
        let rawValue: UInt8

        static let integer = Candidates(rawValue: 1)
        static let decimal = Candidates(rawValue: 2)
        static let double = Candidates(rawValue: 4)
        static let boolean = Candidates(rawValue: 8)
        static let date = Candidates(rawValue: 16)
        static let numbers: Candidates = [.integer, .decimal, .double]
        static let all: Candidates = [.numbers, .boolean, .date]
    }

    /// The types still possible for each column; empty for text.
    private var candidates: [Candidates]
    private var hasValue: [Bool]
    private let key: Int?
    /// The columns that had candidates after the last row.
    private var undecided: [Int]

    /// `asked` are the columns whose types are inferred; if nil, all columns. The columns that aren't asked for are
    /// text.
    package init(columns: Int, key: Int? = nil, asked: Set<Int>? = nil) {
        self.key = key
        undecided = (0..<columns).filter { asked?.contains($0) ?? true }
        candidates = Array(repeating: [], count: columns)
        for column in undecided { candidates[column] = column == key ? [.integer, .decimal] : .all }
        hasValue = Array(repeating: false, count: columns)
    }

    /// Whether no further row can change a type.
    package var isDecided: Bool { undecided.isEmpty }

    /// Notes the fields of a row, which must have one for each column.
    package mutating func note(_ row: borrowing FieldRow) {
        var hasDecided = false
        for column in undecided where !row.isEmpty(column) {
            row[column].withUnsafeBytes { note($0, in: column) }
            if candidates[column].isEmpty { hasDecided = true }
        }
        if hasDecided { undecided.removeAll { candidates[$0].isEmpty } }
    }

    package mutating func note(_ text: String, in column: Int) {
        var text = text
        text.withUTF8 { if !$0.isEmpty { note(UnsafeRawBufferPointer($0), in: column) } }
    }

    private mutating func note(_ text: UnsafeRawBufferPointer, in column: Int) {
        hasValue[column] = true
        var left = candidates[column]
        if !left.isDisjoint(with: .numbers) { left.formIntersection(numbers(text, left, isKey: column == key)) }
        if left.contains(.boolean) && !text.isBoolean { left.remove(.boolean) }
        if left.contains(.date) && DateText.date(text) == nil { left.remove(.date) }
        candidates[column] = left
    }

    /// Returns the kinds of numbers that a text can be, and all other types.
    private func numbers(_ text: UnsafeRawBufferPointer, _ left: Candidates, isKey: Bool) -> Candidates {
        let others = Candidates.all.subtracting(.numbers)
        guard let number = NumberText(text), number.isPlain, !isKey || number.isCanonical else { return others }
        var found = others
        if left.contains(.integer), number.integer != nil, !number.isNegativeZero, number.isWritten(asWhole: text) {
            found.insert(.integer)
        }
        if left.contains(.decimal), number.isDecimal, !number.isNegativeZero { found.insert(.decimal) }
        if left.contains(.double), number.isDouble { found.insert(.double) }
        return found
    }

    /// The types of the columns. A column without values, or whose values fit no other type, is text.
    package var types: [ValueType] {
        candidates.indices.map { column in
            let left = hasValue[column] ? candidates[column] : []
            let order: [(Candidates, ValueType)] = [
                (.integer, .integer), (.decimal, .decimal), (.double, .double), (.boolean, .boolean), (.date, .date),
            ]
            return order.first { left.contains($0.0) }?.1 ?? .string
        }
    }
}

extension NumberText {
    /// Whether the text has no point and no exponent: 1.0 counts as a number with a fraction.
    func isWritten(asWhole text: UnsafeRawBufferPointer) -> Bool {
        text.allSatisfy { $0 != 0x2E && $0 | 0x20 != 0x65 }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the text is "true" or "false", ignoring case. (1 is a number.)
    fileprivate var isBoolean: Bool {
        guard count == 4 || count == 5 else { return false }
        return elementsEqual(count == 4 ? "true".utf8 : "false".utf8) { $0 | 0x20 == $1 }
    }
}
