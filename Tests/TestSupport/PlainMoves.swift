/// The expected number of moves: the fewest items that must move so that one list becomes the other.
///
/// The items whose old positions form a longest increasing subsequence, in the order of the new list, can stay. All
/// other items move. Items that only one list has are ignored. O(n²).
package func fewestMoves<Item: Hashable>(from old: [Item], to new: [Item]) -> Int {
    let places = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($1, $0) })
    let sequence = new.compactMap { places[$0] }
    var longest = [Int](repeating: 1, count: sequence.count)
    for index in sequence.indices {
        for before in 0..<index where sequence[before] < sequence[index] {
            longest[index] = max(longest[index], longest[before] + 1)
        }
    }
    return sequence.count - (longest.max() ?? 0)
}

/// The fewest moves of rows within the sections that are in both states, by name. Rows that change their section aren't
/// counted.
package func fewestMovesWithinSections<Row: Hashable>(
    from old: [(name: String, rows: [Row])], to new: [(name: String, rows: [Row])]
) -> Int {
    new.reduce(0) { moves, section in
        guard let before = old.first(where: { $0.name == section.name }) else { return moves }
        return moves + fewestMoves(from: before.rows, to: section.rows)
    }
}
