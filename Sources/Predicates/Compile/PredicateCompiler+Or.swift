internal import FetchIndexValues

// Compiles OR with many parts. Equalities of one operand with constants become one IN. Parts that require a value of
// the same operand are looked up by that value, so that a row isn't tested against the parts that require another
// value.

extension PredicateCompiler {
    /// A look-up is made for an operand only if at least this many parts require values of it.
    private static let fewestBranches = 16
    /// The maximum number of operands by which the parts of one OR are looked up.
    private static let mostOperands = 4

    func any(_ parts: [PredicateSyntax], _ scope: [String]) throws -> Node {
        let all = parts.flatMap(\.allDisjuncts)
        let merged = PredicateSyntax.mergingEqualities(all)
        // If a merged part doesn't compile, compiles the parts as written, so that the error shows a part as it was
        // written.
        var (parts, nodes) = (merged, (try? merged.map { try compile($0, scope) }) ?? [])
        if nodes.count != parts.count { (parts, nodes) = (all, try all.map { try compile($0, scope) }) }
        if nodes.count == 1 { return nodes[0] }
        // A predicate that is evaluated once, on a single value, tests the parts one by one, because building a look-up
        // would cost more.
        return .any(hasObject ? nodes : try chosen(parts, nodes, scope))
    }

    /// The nodes of an OR; if enough nodes require values of the same operand, they are combined into `.chosen`.
    private func chosen(_ parts: [PredicateSyntax], _ nodes: [Node], _ scope: [String]) throws -> [Node] {
        guard nodes.count >= Self.fewestBranches else { return nodes }
        let demands = parts.map(\.demandedValues)
        var counts: [ExpressionSyntax: Int] = [:]
        for demand in demands { for operand in demand.keys { counts[operand, default: 0] += 1 } }
        var left = Set(nodes.indices)
        var found: [Node] = []
        let common = counts.filter { $0.value >= Self.fewestBranches }.sorted { $0.value > $1.value }
        for (operand, _) in common.prefix(Self.mostOperands) {
            let here = left.filter { demands[$0][operand] != nil }.sorted()
            guard here.count >= Self.fewestBranches else { continue }
            let typed = try self.operand(operand, scope)
            var indices: [EqualityKey: [Int]] = [:]
            for (index, part) in here.enumerated() {
                let keys = Set((demands[part][operand] ?? []).compactMap { EqualityKey($0.literal(for: typed.type)) })
                for key in keys { indices[key, default: []].append(index) }
            }
            found.append(.chosen(.init(operand: typed.operand, parts: here.map { nodes[$0] }, indices: indices)))
            left.subtract(here)
        }
        return found + left.sorted().map { nodes[$0] }
    }
}

extension PredicateSyntax {
    /// The parts of an OR and of ORs inside it; for another predicate, the predicate itself.
    fileprivate var allDisjuncts: [PredicateSyntax] {
        guard case .or(let parts) = self else { return [self] }
        return parts.flatMap(\.allDisjuncts)
    }

    /// The properties that equalities must share to be merged into one IN.
    private struct Target: Hashable {
        let quantifier: Quantifier?
        let operand: ExpressionSyntax
        let folding: TextFolding
    }

    /// Merges equalities of one operand with constants into one IN, in place of the first equality. O(parts and
    /// constants).
    fileprivate static func mergingEqualities(_ parts: [PredicateSyntax]) -> [PredicateSyntax] {
        var places: [Target: Int] = [:]
        var values: [(target: Target, values: [ExpressionSyntax])?] = []
        var merged: [PredicateSyntax] = []
        for part in parts {
            guard case .comparison(let comparison) = part, let equality = comparison.equality,
                comparison.quantifier == nil || comparison.quantifier == .any
            else {
                merged.append(part)
                values.append(nil)
                continue
            }
            let target = Target(
                quantifier: comparison.quantifier, operand: equality.operand, folding: comparison.folding)
            if let place = places[target] {
                values[place]?.values += equality.values.map { .value($0) }
            } else {
                places[target] = merged.count
                merged.append(part)
                values.append((target, equality.values.map { .value($0) }))
            }
        }
        return zip(merged, values).map { part, found in
            guard let found, found.values.count > 1 else { return part }
            return .comparison(
                Comparison(
                    found.target.operand, .isIn, folding: found.target.folding, .list(found.values),
                    quantifier: found.target.quantifier))
        }
    }

    /// For each operand, a list of constants; the predicate holds only if the operand equals one of them.
    fileprivate var demandedValues: [ExpressionSyntax: [Value]] {
        var demanded: [ExpressionSyntax: [Value]] = [:]
        for case .comparison(let comparison) in conjuncts where comparison.quantifier == nil {
            guard comparison.folding.isEmpty, let equality = comparison.equality,
                !equality.values.contains(where: \.isNull), demanded[equality.operand] == nil
            else { continue }
            demanded[equality.operand] = equality.values
        }
        return demanded
    }
}

extension Comparison {
    /// The operand and the constants of an equality, or of IN with a list of constants. Nil for other comparisons, for
    /// example if a side is a calculation, in which one constant may affect the type of another.
    fileprivate var equality: (operand: ExpressionSyntax, values: [Value])? {
        switch (left, comparator, right) {
        case (_, .equal, .value(let value)) where left.isPlain && value.isPlainLiteral: return (left, [value])
        case (.value(let value), .equal, _) where right.isPlain && value.isPlainLiteral && quantifier == nil:
            return (right, [value])
        case (_, .isIn, .list(let elements)) where left.isPlain:
            let values = elements.compactMap { element -> Value? in
                if case .value(let value) = element, value.isPlainLiteral { value } else { nil }
            }
            return values.count == elements.count ? (left, values) : nil
        default: return nil
        }
    }
}

extension ExpressionSyntax {
    /// Whether the expression is an attribute, a variable or SELF, or a key path from one.
    fileprivate var isPlain: Bool {
        switch self {
        case .object, .variable, .keyPath(.object, _), .keyPath(.variable, _): true
        default: false
        }
    }
}

extension Value {
    /// Whether the literal has the same value next to any other literal. This isn't the case for a large double, which
    /// may be read by its digits or by its value.
    fileprivate var isPlainLiteral: Bool {
        if case .double(let number) = self { number.magnitude < 0x1p53 } else { true }
    }

    /// The literal converted to the type of the values with which it is compared; unchanged if it can't be converted.
    fileprivate func literal(for type: StaticType) -> Value {
        guard case .one(let type) = type, self.type != type else { return self }
        if case .string(let text) = self { return Value(text, as: type) ?? self }
        return exactly(as: type) ?? self
    }
}
