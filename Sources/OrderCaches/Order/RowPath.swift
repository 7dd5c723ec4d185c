/// The path of a row: the index of its section, and its index in the section. Both count from 0.
public struct RowPath: Hashable, Comparable, Sendable, CustomStringConvertible {
    public var section: Int
    public var row: Int

    public init(section: Int, row: Int) {
        self.section = section
        self.row = row
    }

    public static func < (left: RowPath, right: RowPath) -> Bool {
        (left.section, left.row) < (right.section, right.row)
    }

    /// The path as text: section:row.
    public var description: String { "\(section):\(row)" }
}
