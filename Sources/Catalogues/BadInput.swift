/// An invalid line or field of an import or change file.
package struct BadInput: Error, CustomStringConvertible {
    package let file: String
    package let line: Int
    /// From 1; nil when the whole row is meant.
    package let column: Int?
    package let columnName: String?
    package let reason: String
    /// Whether a field's text isn't of its column's type, so that a column of texts would take it.
    package var isOfType = false

    package init(file: String, line: Int, column: Int? = nil, columnName: String? = nil, reason: String) {
        (self.file, self.line, self.column, self.columnName, self.reason) = (file, line, column, columnName, reason)
    }

    package var description: String {
        var place = "\(file), line \(line)"
        if let column { place += ", column \(column)\(columnName.map { " (\($0))" } ?? "")" }
        return "\(place): \(reason)"
    }
}

/// A file that cannot be read as a catalogue at all.
package struct UnreadableFile: Error, CustomStringConvertible {
    package let path: String
    /// What follows the path in the message.
    package let reason: String
    /// Whether there is nothing in it: no row, and no name of a column.
    package var isEmpty = false

    package var description: String { "\(path) \(reason)" }
}
