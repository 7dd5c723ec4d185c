/// An invalid line or field of an import or change file.
package struct BadInput: Error, CustomStringConvertible {
    package let file: String
    package let line: Int
    /// The column's number, from 1; nil if the error names no column.
    package let column: Int?
    package let columnName: String?
    package let reason: String
    /// Whether an import refused an attribute's field because its text isn't a value of the type, or isn't written as
    /// the column's keys must be. A text column would usually accept the field.
    package var isOfType = false
    /// The remedy with which an import may accept the field or row, if any.
    package var remedy: ImportRemedy?

    package init(file: String, line: Int, column: Int? = nil, columnName: String? = nil, reason: String) {
        (self.file, self.line, self.column, self.columnName, self.reason) = (file, line, column, columnName, reason)
    }

    package var description: String {
        var place = "\(file), line \(line)"
        if let column { place += ", column \(column)\(columnName.map { " (\($0))" } ?? "")" }
        return "\(place): \(reason)"
    }
}

/// A catalogue or a change file that can't be read, or not to its end.
package struct UnreadableFile: Error, CustomStringConvertible {
    package let path: String
    /// The text that follows the path in the message.
    package let reason: String
    /// Whether the file counts as empty, because it names no columns.
    package var isEmpty = false
    /// What the user can specify to make the file readable, if anything.
    package var remedy: ImportRemedy?

    package var description: String { "\(path) \(reason)" }
}

/// A remedy with which a file, a field or a row may be imported. A tool names the option for it.
package enum ImportRemedy: Equatable, Sendable {
    /// The entity gets the columns that it lacks.
    case addColumns
    /// A key, instead of a row's number, decides which object a row belongs to.
    case key
    /// Related objects are named by a value instead of by their numbers.
    case relation
    /// The user gives the delimiter of the columns, which is the character that was found, or a comma. If `isCSV` is
    /// false, the user must also give the format CSV, the only one with a choice of delimiters.
    case delimiter(UInt8, isCSV: Bool)
    /// The user gives the type of a column, so that its name counts as known (`ToldColumns`).
    case typeOfColumn
    /// The user gives the types of all columns, so that none is inferred.
    case types
}
