internal import Values

/// The constants that IN looks among: O(log n) for texts and integers, O(n) for others.
struct ValueSet: Sendable {
    private let texts: TextTest?
    private let integers: [Int64]
    /// Numbers that are not integers, and all that is neither number nor text.
    private let others: [PredicateValue]
    private let hasNull: Bool
    private let folding: TextFolding

    init(_ values: [PredicateValue], _ folding: TextFolding) {
        var texts: [String] = []
        var integers: [Int64] = []
        var others: [PredicateValue] = []
        for value in values {
            switch value {
            case .one(.string(let text)): texts.append(text)
            case .one(.integer(let number)): integers.append(number)
            case .one(.null): break
            default: others.append(value)
            }
        }
        self.texts = texts.isEmpty ? nil : TextTest(oneOf: texts, folding)
        self.integers = integers.sorted()
        hasNull = values.contains(where: \.isNull)
        self.others = others
        self.folding = folding
    }

    /// The test for attributes that are texts, when all values are.
    var textTest: TextTest? { integers.isEmpty && others.isEmpty && !hasNull ? texts : nil }

    /// The values, when all are of a type: an attribute of it is one of them, or it is not in the set.
    func values(of type: ValueType?) -> [Value]? {
        guard folding.isEmpty, texts == nil, !hasNull else { return nil }
        let values = others.compactMap(\.value) + integers.map(Value.integer)
        guard values.count == others.count + integers.count, values.allSatisfy({ $0.type == type }) else { return nil }
        // What is not a number is equal to nothing.
        return values.filter(\.isEqualToItself)
    }

    func contains(_ value: PredicateValue) throws -> Bool {
        switch value {
        case .one(.null): return hasNull
        case .one(.string(let text)): return try texts?.matches(text) ?? false
        case .one(.integer(let number)):
            let place = integers.indices.firstNumber(fromWhich: { integers[$0] >= number })
            if place < integers.count && integers[place] == number { return true }
        case .one(.double), .one(.decimal), .one(.boolean):
            if integers.contains(where: { Comparator.equal.holds(value, .one(.integer($0))) }) { return true }
        default: break
        }
        return others.contains { value.isEqualText($0, folding) }
    }
}
