internal import FetchIndexValues

/// The constants of IN. A look-up takes O(log n) comparisons for texts, URLs and integers, and O(n) for lists. Most
/// other values are hashed.
struct ValueSet: Sendable {
    /// All constants that aren't lists.
    private let values: [Value]
    /// The test for texts and URLs; nil if no constant is a text or a URL.
    private let texts: TextTest?
    /// The keys of the constants that aren't texts, URLs or lists.
    private let keys: Set<EqualityKey>
    /// The keys that are integers, in ascending order.
    private let integers: [Int64]
    private let lists: [PredicateValue]
    let hasNull: Bool
    private let folding: TextFolding

    init(_ constants: [PredicateValue], _ folding: TextFolding) {
        values = constants.compactMap(\.value)
        let texts = values.compactMap(\.searchedText)
        self.texts = texts.isEmpty ? nil : TextTest(oneOf: texts, folding)
        keys = Set(values.lazy.filter { $0.searchedText == nil }.compactMap { EqualityKey($0) })
        integers = keys.compactMap { if case .value(.integer(let number)) = $0 { number } else { nil } }.sorted()
        lists = constants.filter { $0.value == nil }
        hasNull = values.contains(where: \.isNull)
        self.folding = folding
    }

    /// The test for a text attribute, if all constants are texts or URLs.
    var textTest: TextTest? { keys.isEmpty && lists.isEmpty && !hasNull ? texts : nil }

    /// The constants that may occur as values of a type; nil if they can't be determined.
    func values(of type: ValueType?) -> [Value]? {
        guard let type, folding.isEmpty, lists.isEmpty else { return nil }
        var found: [Value] = []
        for value in values {
            if value.type == type || value.isNull {
                // NaN doesn't equal any value, so it's left out.
                if value.isNull || value.isEqualToItself { found.append(value) }
            } else {
                // Literals were converted to the attribute's type where possible. A number that couldn't be converted
                // isn't a value of the attribute.
                guard type == .integer || type == .double, value.exactly(as: type) == nil else { return nil }
            }
        }
        return found
    }

    func contains(_ value: PredicateValue) throws -> Bool {
        guard case .one(let value) = value else {
            return lists.contains { value.isEqualText($0, folding) }
        }
        if case .integer(let number) = value {
            let place = integers.indices.firstNumber { integers[$0] >= number }
            return place < integers.count && integers[place] == number
        }
        if value.isNull { return hasNull }
        if let text = value.searchedText { return try texts?.matches(text) ?? false }
        return EqualityKey(value).map(keys.contains) ?? false
    }
}
