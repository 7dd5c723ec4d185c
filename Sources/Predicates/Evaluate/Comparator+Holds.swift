internal import FetchIndexEssentials
internal import FetchIndexPlatform
internal import FetchIndexValues

extension Comparator {
    /// Whether the result of a three-way comparison (negative if ascending) satisfies `==`, `!=`, `<`, `<=`, `>` or
    /// `>=`.
    func holds(_ order: Int) -> Bool {
        switch self {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        default: false
        }
    }

    /// Whether an attribute's integer, nil for null, satisfies the comparison with a constant.
    package func holds(_ found: Int64?, _ wanted: Int64) -> Bool {
        guard let found else { return self == .notEqual }
        return holds(found < wanted ? -1 : found == wanted ? 0 : 1)
    }

    /// Whether an attribute's double, or a date's seconds, nil for null, satisfies the comparison with a constant. An
    /// attribute's NaN differs from every number; the constant must not be NaN.
    package func holds(_ found: Double?, _ wanted: Double) -> Bool {
        guard let found, !found.isNaN else { return self == .notEqual }
        return holds(found < wanted ? -1 : found == wanted ? 0 : 1)
    }

    /// Whether two values satisfy the comparison. Texts are compared under the folding.
    func holds(_ left: PredicateValue, _ right: PredicateValue, _ folding: TextFolding = []) -> Bool {
        if left.isNull || right.isNull {
            switch self {
            case .equal: return left.isNull && right.isNull
            case .notEqual: return left.isNull != right.isNull
            default: return false
            }
        }
        guard case .one(let leftValue) = left, case .one(let rightValue) = right else {
            return isEquality && left.isEqualText(right, folding) == (self == .equal)
        }
        if let left = leftValue.searchedText, let right = rightValue.searchedText,
            !folding.isEmpty || leftValue.type != rightValue.type
        {
            return holds(
                folding.fold(left).withUnsafeBytes { left in
                    folding.fold(right).withUnsafeBytes { left.bytes.compare($0.bytes) }
                })
        }
        guard let order = leftValue.compare(to: rightValue) else { return self == .notEqual }
        return holds(order == .ascending ? -1 : order == .same ? 0 : 1)
    }

    private var isEquality: Bool { self == .equal || self == .notEqual }
}

extension PredicateValue {
    /// Whether `==` holds for two values. Lists are compared element by element, and dictionaries key by key.
    func isEqualText(_ other: PredicateValue, _ folding: TextFolding) -> Bool {
        switch (self, other) {
        case (.one, .one): Comparator.equal.holds(self, other, folding)
        case (.list(let left), .list(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isEqualText($1, folding) }
        case (.dictionary(let left), .dictionary(let right)):
            left.count == right.count
                && left.allSatisfy { name, value in right[name].map { value.isEqualText($0, folding) } ?? false }
        default: false
        }
    }

    /// Whether this value is a list that contains another value, which may be null.
    func contains(_ value: PredicateValue, _ folding: TextFolding) -> Bool {
        guard case .list(let elements) = self else { return false }
        return elements.contains { value.isEqualText($0, folding) }
    }
}

extension Comparator {
    /// Evaluates CONTAINS, BEGINSWITH, ENDSWITH, LIKE or MATCHES on values, for operands that couldn't be compiled to a
    /// test of a text. CONTAINS also finds an element in a list.
    func finds(_ pattern: PredicateValue, in value: PredicateValue, _ folding: TextFolding) throws -> Bool {
        if self == .contains, case .list = value { return value.contains(pattern, folding) }
        guard let text = value.value?.searchedText, let pattern = pattern.value?.searchedText else { return false }
        return try TextTest(self, pattern, folding).matches(text)
    }
}

extension Value {
    /// The text that text operators search: a text, or a URL's text; nil for other values.
    var searchedText: String? {
        switch self {
        case .string(let text): text
        case .url(let url): url.absoluteString
        default: nil
        }
    }
}
