package import FetchIndexValues

/// A predicate compiled for many rows: attributes are slots, constants have their attribute's type, texts to look for
/// are folded, regular expressions compiled.
///
/// Logic is two-valued: a comparison with null is false, except for `== nil`, `!=`, and IN with a list that has null.
package struct CompiledPredicate: Sendable {
    indirect enum Node: Sendable {
        case constant(Bool)
        case not(Node)
        case all([Node])
        case any([Node])
        /// Parts of an OR, found by the values that each of them demands of one operand.
        case chosen(Branches)
        // The common comparisons of an attribute with a constant read the row's bytes and allocate nothing.
        case integer(slot: Int, Comparator, Int64)
        /// A double, or a date's seconds.
        case double(slot: Int, Comparator, Double)
        case text(slot: Int, TextTest)
        /// A UUID's 16 bytes, which have its order.
        case uuid(slot: Int, Comparator, [UInt8])
        /// A decimal's digits.
        case decimal(slot: Int, Comparator, [UInt8])
        case comparison(Operand, Comparator, Operand, TextFolding)
        case test(Operand, TextTest)
        /// A text operator whose right side isn't a constant.
        case search(Operand, Comparator, Operand, TextFolding)
        case isIn(Operand, Operand, TextFolding)
        case isInSet(Operand, ValueSet)
        case between(Operand, Operand, TextFolding)
        /// A node on a variable, evaluated for the elements of a list.
        case quantified(Quantifier, Operand, Node)
        /// The first node if one of the operands is a decimal, otherwise the second one.
        case exact(where: [Operand], Node, Node)
    }

    indirect enum Operand: Sendable {
        case constant(PredicateValue)
        case slot(Int, ValueType?)
        /// The number of elements of a slot that is a list.
        case count(ofSlot: Int)
        case object
        /// A variable of SUBQUERY or of a quantifier, by its depth.
        case variable(Int)
        case list([Operand])
        case path(Operand, [Step])
        case operation(ArithmeticOperator, Operand, Operand)
        case call(PredicateFunction, [Operand])
        case subquery(Operand, Node)
        case ternary(Node, Operand, Operand)
        /// The first operand if one of the listed ones is a decimal, otherwise the second one.
        case exact(where: [Operand], Operand, Operand)
    }

    /// Parts that hold only if an operand has one of some values.
    struct Branches: Sendable {
        let operand: Operand
        let parts: [Node]
        /// The indices of the parts that may hold, by the operand's value.
        let indices: [EqualityKey: [Int]]
    }

    enum Step: Sendable {
        case name(String)
        case collection(CollectionOperator)
        case index(Operand)
        case first
        case last
        case size
    }

    let root: Node

    init(root: Node) { self.root = root }

    /// Whether a row matches. O(size of the predicate and of the values that it reads).
    package func evaluate<Row: PredicateRow & ~Escapable>(_ row: borrowing Row) throws -> Bool {
        try root.holds(row, [])
    }
}

/// The place of an attribute in rows.
package struct ResolvedAttribute: Sendable {
    package let slot: Int
    /// Nil if the attribute may have any type.
    package let type: ValueType?
    /// The number of names of the key path that the attribute takes; the others are steps into its value.
    package let nameCount: Int
    /// Whether the attribute is a list: of values, or of elements that have values by name.
    package let isList: Bool

    package init(slot: Int, type: ValueType?, nameCount: Int, isList: Bool = false) {
        self.slot = slot
        self.type = isList ? nil : type
        self.nameCount = nameCount
        self.isList = isList
    }
}
