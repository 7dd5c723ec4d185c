/// A part of a predicate's topmost AND, by what it reads of a row: common parts are tested on many rows in one loop.
package enum PredicatePart: Sendable {
    case text(slot: Int, TextTest)
    case integer(slot: Int, Comparator, Int64)
    /// A double or a date.
    case double(slot: Int, Comparator, Double)
    /// A part that is evaluated row by row.
    case other(CompiledPredicate)
}

extension CompiledPredicate {
    /// The parts that hold together where the predicate holds. A row on which several have errors may throw another one's than
    /// `evaluate` does.
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
