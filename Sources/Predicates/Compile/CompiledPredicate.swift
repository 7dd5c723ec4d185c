package import FetchIndexValues

/// A predicate compiled for evaluation on many rows: attributes are resolved to slots, and most constants are converted
/// to the attributes' types, folded or compiled.
///
/// Logic is two-valued: without ALL or NONE, a comparison with null is false, except that `==` holds for two nulls,
/// `!=` for null and another value, and IN for null and a list that contains null. CONTAINS finds null in a list like
/// IN, but not the literal null.
package struct CompiledPredicate: Sendable {
    indirect enum Node: Sendable {
        case constant(Bool)
        case not(Node)
        case all([Node])
        case any([Node])
        /// An OR in which the parts that may hold are looked up by an operand's value.
        case chosen(Branches)
        // Common comparisons of an attribute with a constant. They read the row's bytes, without making a value of
        // them.
        case integer(slot: Int, Comparator, Int64)
        /// A comparison with a double, or with a date's seconds since 2001.
        case double(slot: Int, Comparator, Double)
        case text(slot: Int, TextTest)
        /// A comparison with a UUID's 16 bytes, which sort like the UUID.
        case uuid(slot: Int, Comparator, [UInt8])
        /// A comparison with a decimal's digits.
        case decimal(slot: Int, Comparator, [UInt8])
        case comparison(Operand, Comparator, Operand, TextFolding)
        case test(Operand, TextTest)
        /// CONTAINS, BEGINSWITH, ENDSWITH, LIKE or MATCHES with a right side that isn't a constant text; also CONTAINS
        /// with a left side that isn't an attribute of texts or URLs, because it may be a list.
        case search(Operand, Comparator, Operand, TextFolding)
        case isIn(Operand, Operand, TextFolding)
        case isInSet(Operand, ValueSet)
        case between(Operand, Operand, TextFolding)
        /// ANY, ALL or NONE of a list's elements: the node is evaluated with one element after the other as a variable.
        case quantified(Quantifier, Operand, Node)
        /// Evaluates the first node if one of the operands is a decimal or a list with one, otherwise the second.
        case exact(where: [Operand], Node, Node)
    }

    indirect enum Operand: Sendable {
        case constant(PredicateValue)
        case slot(Int, ValueType?)
        /// The number of elements in the list of a slot.
        case count(ofSlot: Int)
        case object
        /// A variable of SUBQUERY or of a quantifier, by its depth of nesting.
        case variable(Int)
        case list([Operand])
        case path(Operand, [Step])
        case operation(ArithmeticOperator, Operand, Operand)
        case call(PredicateFunction, [Operand])
        case subquery(Operand, Node)
        case ternary(Node, Operand, Operand)
        /// Evaluates the first operand if one of the listed ones is a decimal or a list with one, otherwise the second.
        case exact(where: [Operand], Operand, Operand)
    }

    /// Parts of an OR, each of which holds only if the same operand has one of certain values.
    struct Branches: Sendable {
        let operand: Operand
        let parts: [Node]
        /// The indices of the parts that may hold, by the value of the operand.
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

    /// Whether the predicate holds for a row. O(size of the predicate and of the values that it reads), except for
    /// patterns, medians, modes, and predicates on the elements of lists.
    package func evaluate<Row: PredicateRow & ~Escapable>(_ row: borrowing Row) throws -> Bool {
        try root.holds(row, [])
    }
}

/// An attribute that a key path begins with, resolved to its slot.
package struct ResolvedAttribute: Sendable {
    package let slot: Int
    /// The attribute's type; nil for a list, and if its values may have any type.
    package let type: ValueType?
    /// The number of key path elements in the attribute's name. The other elements are steps into its value.
    package let nameCount: Int
    /// Whether the attribute is a list, of values or of dictionaries.
    package let isList: Bool

    package init(slot: Int, type: ValueType?, nameCount: Int, isList: Bool = false) {
        self.slot = slot
        self.type = isList ? nil : type
        self.nameCount = nameCount
        self.isList = isList
    }
}
