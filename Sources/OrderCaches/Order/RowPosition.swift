/// A row's place: its section's index and its index in the section, from 0.
package struct RowPosition: Hashable, Comparable, Sendable {
    package var section: Int
    package var row: Int

    package init(section: Int, row: Int) {
        self.section = section
        self.row = row
    }

    package static func < (left: RowPosition, right: RowPosition) -> Bool {
        (left.section, left.row) < (right.section, right.row)
    }
}

extension RowPosition: CustomStringConvertible {
    /// section:row
    package var description: String { "\(section):\(row)" }
}
