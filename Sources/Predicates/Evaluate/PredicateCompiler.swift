#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
internal import Values

/// Turns a syntax tree into a compiled one. What no row could decide is refused here.
struct PredicateCompiler {
    typealias Node = CompiledPredicate.Node
    typealias Operand = CompiledPredicate.Operand
    typealias Typed = (operand: Operand, type: StaticType)

    let resolve: ([String]) throws -> ResolvedAttribute
    /// Whether rows are values of any type, which have a SELF: then no type is known, and none refused.
    let hasObject: Bool
    /// What `now()` is, for all rows alike.
    let now: Date

    /// `scope` names the variables around, the outermost first.
    func compile(_ syntax: PredicateSyntax, _ scope: [String] = []) throws -> Node {
        switch syntax {
        case .constant(let result): .constant(result)
        case .not(let inner): .not(try compile(inner, scope))
        case .and(let parts): .all(try parts.map { try compile($0, scope) })
        case .or(let parts): .any(try parts.map { try compile($0, scope) })
        case .comparison(let comparison): try compile(comparison, scope)
        }
    }

    private func compile(_ comparison: Comparison, _ scope: [String]) throws -> Node {
        let left = try operand(comparison.left, scope)
        guard let quantifier = comparison.quantifier else {
            return try node(comparison, left, try operand(comparison.right, scope))
        }
        guard left.type == .list || left.type.isOpen else {
            throw FetchPredicateError.typeMismatch(
                "\(quantifier.rawValue) in \"\(comparison)\" needs a list, and \(comparison.left) is a \(left.type.name)"
            )
        }
        let inner = scope + [""]
        let element: Typed = (.variable(scope.count), .unknown)
        return .quantified(
            quantifier, left.operand, try node(comparison, element, try operand(comparison.right, inner)))
    }

    private func node(_ comparison: Comparison, _ left: Typed, _ right: Typed) throws -> Node {
        switch comparison.comparator {
        case .between: try between(comparison, left, right)
        case .isIn: try membership(comparison, left, right)
        case .contains, .beginsWith, .endsWith, .like, .matches: try search(comparison, left, right)
        default: try relation(comparison, comparison.comparator, left, right)
        }
    }

    // MARK: Relations

    private func relation(_ comparison: Comparison, _ comparator: Comparator, _ left: Typed, _ right: Typed) throws
        -> Node
    {
        if case .constant = left.operand, case .constant = right.operand {
        } else if case .constant = left.operand {
            return try relation(comparison, comparator.turned, right, left)
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

    /// A comparison of an attribute with a constant that needs nothing but the row's bytes.
    private func fast(_ comparator: Comparator, _ left: Operand, _ right: Operand, _ folding: TextFolding) throws
        -> Node?
    {
        guard case .slot(let slot, let type) = left, case .constant(.one(let value)) = right else { return nil }
        switch (type, value) {
        case (.integer, .integer(let number)): return .integer(slot: slot, comparator, number)
        case (.double, .double(let number)) where !number.isNaN: return .double(slot: slot, comparator, number)
        case (.double, .integer(let number)) where Int64(exactly: Double(number)) == number:
            return .double(slot: slot, comparator, Double(number))
        case (.date, .date(let date)): return .double(slot: slot, comparator, date.timeIntervalSinceReferenceDate)
        case (.string, .string(let text)):
            // Null is different from every text.
            if comparator == .notEqual { return .not(.text(slot: slot, try TextTest(.equal, text, folding))) }
            return .text(slot: slot, try TextTest(comparator, text, folding))
        default: return nil
        }
    }

    /// A literal text as the type of what it is compared with: "2016-05-16" as a date.
    private func converted(_ typed: Typed, for type: StaticType, in comparison: Comparison) throws -> Typed {
        guard case .constant(.one(.string(let text))) = typed.operand, case .one(let type) = type, type != .string
        else { return typed }
        guard let value = Value(text, as: type) else {
            throw FetchPredicateError.typeMismatch(
                "\"\(comparison)\" compares a \(type.name) with a text that reads as none")
        }
        return (.constant(.one(value)), .one(type))
    }

    func type(of value: PredicateValue) -> StaticType { hasObject ? .unknown : StaticType(value) }

    private func mismatch(_ comparison: Comparison, _ left: Typed, _ right: Typed) -> FetchPredicateError {
        .typeMismatch("\"\(comparison)\" compares a \(left.type.name) with a \(right.type.name)")
    }

    private func between(_ comparison: Comparison, _ left: Typed, _ right: Typed) throws -> Node {
        let bounds: [Typed]
        switch right.operand {
        case .constant(.list(let values)): bounds = values.map { (.constant($0), type(of: $0)) }
        case .list(let operands): bounds = operands.map { ($0, .unknown) }
        default:
            guard right.type == .list || right.type.isOpen else { throw mismatch(comparison, left, right) }
            return .between(left.operand, right.operand, comparison.folding)
        }
        guard bounds.count == 2 else {
            if hasObject { return .constant(false) }
            throw FetchPredicateError.typeMismatch("BETWEEN in \"\(comparison)\" needs a list of two values")
        }
        return .all([
            try relation(comparison, .greaterOrEqual, left, bounds[0]),
            try relation(comparison, .lessOrEqual, left, bounds[1]),
        ])
    }

    // MARK: Texts and lists

    private func membership(_ comparison: Comparison, _ left: Typed, _ right: Typed) throws -> Node {
        switch right.operand {
        case .constant(.list(let values)):
            let values = try values.map { value in
                let element = try converted((.constant(value), type(of: value)), for: left.type, in: comparison)
                guard case .constant(let value) = element.operand, element.type.isComparable(to: left.type) else {
                    throw mismatch(comparison, left, element)
                }
                return value
            }
            let set = ValueSet(values, comparison.folding)
            if case .slot(let slot, .string) = left.operand, let test = set.textTest { return .text(slot: slot, test) }
            return .isInSet(left.operand, set)
        case .constant(.one(.null)): return .constant(false)
        default:
            guard right.type == .list || right.type.isText else {
                throw FetchPredicateError.typeMismatch(
                    "IN in \"\(comparison)\" needs a list or a text on its right, not a \(right.type.name)")
            }
            if right.type == .one(.string), !left.type.isText { throw mismatch(comparison, left, right) }
            if case .slot(let slot, .string) = right.operand, case .constant(.one(.string(let text))) = left.operand {
                return .text(slot: slot, try TextTest(.contains, text, comparison.folding))
            }
            return .isIn(left.operand, right.operand, comparison.folding)
        }
    }

    private func search(_ comparison: Comparison, _ left: Typed, _ right: Typed) throws -> Node {
        let comparator = comparison.comparator
        let isMembership = comparator == .contains && left.type == .list
        guard isMembership || left.type.isText && (right.type.isText || left.type == .unknown) else {
            throw FetchPredicateError.typeMismatch(
                "\(comparator.rawValue) in \"\(comparison)\" looks for a text in a text, not for a "
                    + "\(right.type.name) in a \(left.type.name)")
        }
        if case .constant(.one(let value)) = right.operand {
            if value.isNull { return .constant(false) }
            if case .string(let text) = value {
                let test = try TextTest(comparator, text, comparison.folding)
                if case .slot(let slot, .string) = left.operand { return .text(slot: slot, test) }
                // A value may turn out to be a list, whose elements CONTAINS looks among.
                if comparator != .contains { return .test(left.operand, test) }
            }
        }
        return .search(left.operand, comparator, right.operand, comparison.folding)
    }
}

extension Comparator {
    /// The same with the sides exchanged.
    fileprivate var turned: Comparator {
        switch self {
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        default: self
        }
    }
}

extension CompiledPredicate {
    /// Prepares a predicate for rows of stored objects; `resolve` finds the attribute that a key path begins with.
    /// Throws for attributes that are unknown and for what no row could decide.
    package init(
        _ syntax: PredicateSyntax, now: Date = Date(), resolving resolve: ([String]) throws -> ResolvedAttribute
    ) throws {
        root = try withoutActuallyEscaping(resolve) {
            try PredicateCompiler(resolve: $0, hasObject: false, now: now).compile(syntax)
        }
    }

    /// Prepares a predicate for one value, and evaluates it.
    static func evaluate(_ syntax: PredicateSyntax, on object: PredicateValue) throws -> Bool {
        var names: [String] = []
        let root = try withoutActuallyEscaping({ (path: [String]) -> ResolvedAttribute in
            let whole = path.joined(separator: ".")
            var hasWhole = false
            if case .dictionary(let values) = object { hasWhole = values[whole] != nil }
            names.append(hasWhole ? whole : path[0])
            return ResolvedAttribute(slot: names.count - 1, type: nil, nameCount: hasWhole ? path.count : 1)
        }) { try PredicateCompiler(resolve: $0, hasObject: true, now: Date()).compile(syntax) }
        return try root.holds(ValueRow(object: object, names: names), [])
    }
}
