package import FetchIndexEssentials
internal import FetchIndexValues

/// Compiles a syntax tree. Throws for type errors that show without a row.
struct PredicateCompiler {
    typealias Node = CompiledPredicate.Node
    typealias Operand = CompiledPredicate.Operand
    typealias Typed = (operand: Operand, type: StaticType)

    let resolve: ([String]) throws -> ResolvedAttribute
    /// Whether rows are values of any type, available as SELF. If so, types are unknown at compile time and aren't
    /// checked.
    let hasObject: Bool
    /// The value of `now()` for all rows.
    let now: Date

    /// Compiles a predicate. `scope` has the names of the enclosing variables, outermost first.
    func compile(_ syntax: PredicateSyntax, _ scope: [String] = []) throws -> Node {
        switch syntax {
        case .constant(let result): .constant(result)
        case .not(let inner): .not(try compile(inner, scope))
        case .and(let parts): .all(try parts.map { try compile($0, scope) })
        case .or(let parts): try any(parts, scope)
        case .comparison(let comparison): try withDecimals(comparison, scope) { try compile($0, scope) }
        }
    }

    private func compile(_ comparison: Comparison, _ scope: [String]) throws -> Node {
        let left = try operand(comparison.left, scope)
        guard let quantifier = comparison.quantifier else { return try node(comparison, left, scope) }
        guard left.type == .list || left.type.isOpen else {
            throw FetchPredicateError.typeMismatch(
                "\(quantifier.rawValue) in \(comparison.shown) needs a list, but \(comparison.left) is "
                    + left.type.name)
        }
        // The types of the elements, if the list is a literal; unknown for other lists.
        var types: Set<StaticType> = []
        if case .list(let elements) = comparison.left {
            types = Set(try elements.map { try operand($0, scope).type })
        }
        let type = types.count == 1 ? types.first ?? .unknown : .unknown
        let element: Typed = (.variable(scope.count), type == .list ? .unknown : type)
        return .quantified(quantifier, left.operand, try node(comparison, element, scope + [""]))
    }

    private func node(_ comparison: Comparison, _ left: Typed, _ scope: [String]) throws -> Node {
        switch comparison.comparator {
        case .between: return try between(comparison, left, scope)
        case .isIn: return try membership(comparison, left, scope)
        default: break
        }
        let right = try operand(comparison.right, scope)
        if comparison.comparator.isTextSearch { return try search(comparison, left, right) }
        return try relation(comparison, comparison.comparator, left, right)
    }

    // MARK: Relations

    func relation(_ comparison: Comparison, _ comparator: Comparator, _ left: Typed, _ right: Typed) throws -> Node {
        if case .constant = left.operand, case .constant = right.operand {
        } else if case .constant = left.operand {
            return try relation(comparison, comparator.mirrored, right, left)
        }
        let right = try converted(right, for: left.type, in: comparison)
        let left = try converted(left, for: right.type, in: comparison)
        guard left.type.isComparable(to: right.type) else { throw mismatch(comparison, left, right) }
        if case .constant(let left) = left.operand, case .constant(let right) = right.operand {
            return .constant(comparator.holds(left, right, comparison.folding))
        }
        return try fast(comparator, left.operand, right.operand, comparison.folding)
            ?? .comparison(left.operand, comparator, right.operand, comparison.folding)
    }

    /// Compiles a comparison of an attribute with a constant to one of the nodes that only read the row's bytes; nil
    /// for other comparisons.
    private func fast(_ comparator: Comparator, _ left: Operand, _ right: Operand, _ folding: TextFolding) throws
        -> Node?
    {
        guard case .slot(let slot, let type) = left, case .constant(.one(let value)) = right else { return nil }
        switch (type, value) {
        case (.integer, .double(let number)):
            guard let (comparator, whole) = comparator.whole(number) else { return nil }
            return .integer(slot: slot, comparator, whole)
        case (.integer, .integer(let number)): return .integer(slot: slot, comparator, number)
        case (.double, .double(let number)) where !number.isNaN: return .double(slot: slot, comparator, number)
        case (.date, .date(let date)) where !date.timeIntervalSinceReferenceDate.isNaN:
            return .double(slot: slot, comparator, date.timeIntervalSinceReferenceDate)
        case (.string, .string(let text)):
            // `!=` becomes the negation of `==`, so that it holds for null.
            if comparator == .notEqual { return .not(.text(slot: slot, try TextTest(.equal, text, folding))) }
            return .text(slot: slot, try TextTest(comparator, text, folding))
        case (.uuid, .uuid(let uuid)):
            return .uuid(slot: slot, comparator, withUnsafeBytes(of: uuid.uuid) { [UInt8]($0) })
        case (.decimal, .decimal(let number)) where !number.isNaN:
            return .decimal(slot: slot, comparator, Array(number.description.utf8))
        case (.url, .url(let url)):
            let test = try TextTest(comparator == .notEqual ? .equal : comparator, url.absoluteString, folding)
            return comparator == .notEqual ? .not(.text(slot: slot, test)) : .text(slot: slot, test)
        default: return nil
        }
    }

    /// Converts a literal to the type with which it is compared. A text is parsed, for example "2016-05-16" as a date;
    /// throws if that fails. Another literal that `exactly(as:)` can't convert stays as it is.
    func converted(_ typed: Typed, for type: StaticType, in comparison: Comparison) throws -> Typed {
        guard case .constant(.one(let value)) = typed.operand, case .one(let type) = type, value.type != type else {
            return typed
        }
        if case .string(let text) = value {
            guard let value = Value(text, as: type) else {
                throw FetchPredicateError.typeMismatch(
                    "\(comparison.shown) compares \(type.nameWithArticle) with a text that is not one")
            }
            return (.constant(.one(value)), .one(type))
        }
        guard let exact = value.exactly(as: type) else { return typed }
        return (.constant(.one(exact)), .one(type))
    }

    func mismatch(_ comparison: Comparison, _ left: Typed, _ right: Typed) -> FetchPredicateError {
        .typeMismatch("\(comparison.shown) compares \(left.type.name) with \(right.type.name)")
    }
}

extension Comparator {
    /// The equivalent comparator after the operands are exchanged.
    fileprivate var mirrored: Comparator {
        switch self {
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        default: self
        }
    }
}

extension Comparator {
    /// The equivalent comparison of an integer with an integer instead of a fraction, such as `<= 2` for `< 2.5`. Nil
    /// for `==` and `!=`, and if the integer doesn't fit in 64 bits.
    fileprivate func whole(_ number: Double) -> (Comparator, Int64)? {
        switch self {
        case .less, .lessOrEqual: Int64(exactly: number.rounded(.down)).map { (.lessOrEqual, $0) }
        case .greater, .greaterOrEqual: Int64(exactly: number.rounded(.up)).map { (.greaterOrEqual, $0) }
        default: nil
        }
    }
}

extension Value {
    /// Converts a number to another numeric type. Nil if the conversion isn't exact or isn't supported. A double
    /// becomes the decimal with its printed digits; nil for other magnitudes than 0 and those between 1e-15 and 1e15.
    func exactly(as type: ValueType) -> Value? {
        switch (self, type) {
        case (.integer(let number), .double): Int64(exactly: Double(number)) == number ? .double(Double(number)) : nil
        case (.integer(let number), .decimal): .decimal(Decimal(number))
        case (.integer(0), .boolean), (.double(0), .boolean): .boolean(false)
        case (.integer(1), .boolean), (.double(1), .boolean): .boolean(true)
        case (.double(let number), .integer): Int64(exactly: number).map(Value.integer)
        case (.double(0), .decimal): .decimal(0)
        case (.double(let number), .decimal) where number.magnitude < 1e15 && number.magnitude > 1e-15:
            Decimal(string: number.description).map(Value.decimal)
        case (.decimal(let number), .double):
            Double(number.description).map(Value.double).flatMap { $0.compare(to: self) == .same ? $0 : nil }
        case (.decimal(let number), .integer): Int64(number.description).map(Value.integer)
        case (.boolean(let value), .integer): .integer(value ? 1 : 0)
        case (.boolean(let value), .double): .double(value ? 1 : 0)
        case (.boolean(let value), .decimal): .decimal(value ? 1 : 0)
        default: nil
        }
    }
}

extension CompiledPredicate {
    /// Compiles a predicate for rows of stored objects. `resolve` finds the attribute that a key path begins with.
    /// Throws `FetchPredicateError`, for example for types that can't be compared, and the errors of `resolve`.
    package init(
        _ syntax: PredicateSyntax, now: Date = Date(), resolving resolve: ([String]) throws -> ResolvedAttribute
    ) throws {
        root = try withoutActuallyEscaping(resolve) {
            try PredicateCompiler(resolve: $0, hasObject: false, now: now).compile(syntax)
        }
    }

    /// Compiles a predicate, and evaluates it once on a value.
    static func evaluate(_ syntax: PredicateSyntax, on object: PredicateValue) throws -> Bool {
        let (root, names) = try PredicateCompiler.prepare(for: object) { try $0.compile(syntax) }
        return try root.holds(ValueRow(object: object, names: names), [])
    }
}

extension PredicateCompiler {
    /// Compiles an expression, and evaluates it once on a value.
    static func value(of expression: ExpressionSyntax, on object: PredicateValue) throws -> PredicateValue {
        let (operand, names) = try prepare(for: object) { try $0.operand(expression, []).operand }
        return try operand.value(ValueRow(object: object, names: names), [])
    }

    /// Calls a body with a compiler for a single value. Returns the body's result, and the names of the attributes that
    /// the compiler resolved, by slot.
    fileprivate static func prepare<Result>(
        for object: PredicateValue, _ body: (PredicateCompiler) throws -> Result
    ) throws -> (Result, names: [String]) {
        var names: [String] = []
        let result = try withoutActuallyEscaping({ (path: [String]) -> ResolvedAttribute in
            let whole = path.joined(separator: ".")
            var hasWhole = false
            if case .dictionary(let values) = object { hasWhole = values[whole] != nil }
            names.append(hasWhole ? whole : path[0])
            return ResolvedAttribute(slot: names.count - 1, type: nil, nameCount: hasWhole ? path.count : 1)
        }) { try body(PredicateCompiler(resolve: $0, hasObject: true, now: Date())) }
        return (result, names)
    }
}
