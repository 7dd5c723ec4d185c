/// A part of an AND; for any other predicate, the whole predicate. Common kinds of parts are tested on many rows in one
/// loop.
package enum PredicatePart: Sendable {
    case text(slot: Int, TextTest)
    case integer(slot: Int, Comparator, Int64)
    /// A comparison with a double, or with a date's seconds since 2001.
    case double(slot: Int, Comparator, Double)
    /// A part that has to be evaluated row by row.
    case other(CompiledPredicate)
}

extension CompiledPredicate {
    /// The parts of an AND and of ANDs inside it, or the predicate itself; it holds if all parts hold. If a part throws
    /// for a row, `evaluate` may throw another error or none.
    package var parts: [PredicatePart] {
        root.conjuncts.map { node in
            switch node {
            case .text(let slot, let test): .text(slot: slot, test)
            case .integer(let slot, let comparator, let number): .integer(slot: slot, comparator, number)
            case .double(let slot, let comparator, let number): .double(slot: slot, comparator, number)
            default: .other(CompiledPredicate(root: node))
            }
        }
    }
}
