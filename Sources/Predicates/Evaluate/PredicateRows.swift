/// Rows that a predicate is tested on together, of which some are selected.
package protocol PredicateRows: ~Copyable {
    /// Keeps, of the selected rows, those whose text in a slot passes a test; not those where it is null.
    mutating func keep(slot: Int, passing test: TextTest) throws
    /// Keeps, of the selected rows, those whose integer in a slot stands to another one as the operator says.
    mutating func keep(slot: Int, _ comparator: Comparator, _ integer: Int64) throws
    /// The same for doubles and dates.
    mutating func keep(slot: Int, _ comparator: Comparator, _ double: Double) throws
    /// Keeps, of the selected rows, those that match, tested one by one.
    mutating func keep(matching predicate: CompiledPredicate) throws
}

extension CompiledPredicate {
    /// Keeps, of the selected rows, those that `evaluate` admits. Where several rows have errors, the first one thrown may be another's
    /// than row by row. O(rows x size of the predicate).
    package func keepMatching<Rows: PredicateRows & ~Copyable>(_ rows: inout Rows) throws {
        switch root {
        case .all(let parts): for part in parts { try CompiledPredicate(root: part).keepMatching(&rows) }
        case .text(let slot, let test): try rows.keep(slot: slot, passing: test)
        case .integer(let slot, let comparator, let number): try rows.keep(slot: slot, comparator, number)
        case .double(let slot, let comparator, let number): try rows.keep(slot: slot, comparator, number)
        default: try rows.keep(matching: self)
        }
    }
}
