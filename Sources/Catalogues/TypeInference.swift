package import Values

/// Finds the types of columns from the texts in their first rows.
package struct TypeInference {
    /// The types still possible for each column, from the narrowest on.
    private var candidates: [[ValueType]]
    private var hasValue: [Bool]

    package init(columns: Int) {
        candidates = Array(repeating: [.integer, .double, .boolean, .date], count: columns)
        hasValue = Array(repeating: false, count: columns)
    }

    package mutating func note(_ text: String, in column: Int) {
        if text.isEmpty { return }
        hasValue[column] = true
        candidates[column].removeAll { !Self.reads(text, as: $0) }
    }

    /// A column without values, or with values of no other type, is text.
    package var types: [ValueType] {
        candidates.indices.map { hasValue[$0] ? candidates[$0].first ?? .string : .string }
    }

    /// Stricter than reading a value: "007" is not an integer, since it would lose its zeros, an integer beyond
    /// 64 bits no double, since it would lose digits, and 1 no boolean.
    private static func reads(_ text: String, as type: ValueType) -> Bool {
        switch type {
        case .integer: Int64(text).map { String($0) == text } ?? false
        case .double:
            Value(text, as: .double) != nil && !hasLeadingZero(text) && ValueType(ofNumber: text) != .string
                && text.utf8.allSatisfy { (48...57).contains($0) || [43, 45, 46, 69, 101].contains($0) }
        case .boolean: ["true", "false"].contains(text.lowercased())
        case .date: text.utf8.count >= 10 && Value(text, as: .date) != nil
        default: false
        }
    }

    private static func hasLeadingZero(_ text: String) -> Bool {
        let digits = text.utf8.drop { $0 == 45 }
        return digits.first == 48 && digits.dropFirst().first.map { (48...57).contains($0) } ?? false
    }
}
