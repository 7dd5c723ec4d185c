internal import FetchIndexValues

// OR of many parts: equalities of one operand with constants become one IN, and parts that demand a value of one
// operand are found by that value. A row costs O(other parts).

extension PredicateCompiler {
    /// The minimum number of parts that are found by a value.
    private static let fewestBranches = 16
    /// The maximum number of operands by whose values one OR finds its parts.
    private static let mostOperands = 4

    func any(_ parts: [PredicateSyntax], _ scope: [String]) throws -> Node {
        let all = parts.flatMap(\.allDisjuncts)
        let merged = PredicateSyntax.mergingEqualities(all)
        // An error must show the part as it was written.
        var (parts, nodes) = (merged, (try? merged.map { try compile($0, scope) }) ?? [])
        if nodes.count != parts.count { (parts, nodes) = (all, try all.map { try compile($0, scope) }) }
        if nodes.count == 1 { return nodes[0] }
        // For a single value, the parts are tested one by one.
        return .any(hasObject ? nodes : try chosen(parts, nodes, scope))
    }

    /// The nodes, with `.chosen` in place of those that demand values of one operand.
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
    /// The parts of an OR, at any depth, or the predicate itself.
    fileprivate var allDisjuncts: [PredicateSyntax] {
        guard case .or(let parts) = self else { return [self] }
        return parts.flatMap(\.allDisjuncts)
    }

    /// What equalities with constants must have in common to become one IN.
    private struct Target: Hashable {
        let quantifier: Quantifier?
        let operand: ExpressionSyntax
        let folding: TextFolding
    }

    /// The parts of an OR, with the equalities of one operand merged into one IN, in place of the first. O(parts).
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

    /// The constants of each operand that must be equal to one of them.
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
    /// The operand and the constants of an equality, on either side, or of IN. Nil for calculations, in which one
    /// constant may decide what another one means.
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
    /// Whether the literal means the same next to any other literal: a large double, whose digits aren't its value,
    /// doesn't.
    fileprivate var isPlainLiteral: Bool {
        if case .double(let number) = self { number.magnitude < 0x1p53 } else { true }
    }

    /// The literal as it is compared with values of a type.
    fileprivate func literal(for type: StaticType) -> Value {
        guard case .one(let type) = type, self.type != type else { return self }
        if case .string(let text) = self { return Value(text, as: type) ?? self }
        return exactly(as: type) ?? self
    }
}
