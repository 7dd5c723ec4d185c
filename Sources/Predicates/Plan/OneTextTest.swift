internal import FetchIndexValues

/// A part of a predicate that depends on only one text attribute.
package struct OneTextTest: Sendable {
    private let node: CompiledPredicate.Node

    init(_ node: CompiledPredicate.Node) { self.node = node }

    /// Whether the part holds for a text. Throws like the predicate.
    package func holds(_ text: RawSpan) throws -> Bool { try node.holds(TextRow(text, isNull: false), []) }

    package func holdsForNull() throws -> Bool { try node.holds(TextRow(RawSpan(), isNull: true), []) }
}

extension CompiledPredicate {
    /// The parts of the predicate (`conjuncts`) that read a single slot, if `isText` returns true for the slot.
    package func testsOfOneText(where isText: (_ slot: Int) -> Bool) -> [(slot: Int, test: OneTextTest)] {
        root.conjuncts.compactMap { node in
            guard let slots = node.slots, slots.count == 1, let slot = slots.first, isText(slot) else { return nil }
            return (slot, OneTextTest(node))
        }
    }
}

extension CompiledPredicate.Node {
    /// The parts of an AND and of ANDs inside it; for another node, the node itself.
    var conjuncts: [CompiledPredicate.Node] {
        if case .all(let parts) = self { parts.flatMap(\.conjuncts) } else { [self] }
    }

    /// The slots that the node reads. Nil if it reads anything else, such as SELF, a variable or a key path, and for
    /// `quantified` and `exact`.
    fileprivate var slots: Set<Int>? {
        switch self {
        case .constant: []
        case .not(let inner): inner.slots
        case .all(let parts), .any(let parts): union(parts.map(\.slots))
        case .chosen(let branches): union([branches.operand.slots] + branches.parts.map(\.slots))
        case .integer(let slot, _, _), .double(let slot, _, _), .text(let slot, _), .uuid(let slot, _, _),
            .decimal(let slot, _, _):
            [slot]
        case .comparison(let left, _, let right, _), .search(let left, _, let right, _), .isIn(let left, let right, _),
            .between(let left, let right, _):
            union([left.slots, right.slots])
        case .test(let operand, _), .isInSet(let operand, _): operand.slots
        case .quantified, .exact: nil
        }
    }
}

extension CompiledPredicate.Operand {
    fileprivate var slots: Set<Int>? {
        switch self {
        case .constant: []
        case .slot(let slot, _): [slot]
        case .list(let parts), .call(_, let parts): union(parts.map(\.slots))
        case .operation(_, let left, let right): union([left.slots, right.slots])
        default: nil
        }
    }
}

/// The union; nil if one of the sets is nil.
private func union(_ parts: [Set<Int>?]) -> Set<Int>? {
    var all: Set<Int> = []
    for part in parts {
        guard let part else { return nil }
        all.formUnion(part)
    }
    return all
}

/// A row in which every slot has the same text, for predicates that read one slot.
private struct TextRow: PredicateRow, ~Escapable {
    private let text: RawSpan
    private let isNull: Bool

    @_lifetime(copy text)
    init(_ text: RawSpan, isNull: Bool) {
        self.text = text
        self.isNull = isNull
    }

    func integer(at slot: Int) -> Int64? { nil }

    func double(at slot: Int) -> Double? { nil }

    func test(at slot: Int, _ test: TextTest) throws -> Bool? { isNull ? nil : try test.matches(text) }

    func bytes<Result>(at slot: Int, _ body: (RawSpan) throws -> Result) throws -> Result? {
        isNull ? nil : try body(text)
    }

    func value(at slot: Int, as type: ValueType?) throws -> PredicateValue {
        isNull ? .null : .one(.string(text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }))
    }

    var object: PredicateValue { .null }
}
