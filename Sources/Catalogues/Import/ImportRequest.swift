internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexValues

/// A catalogue file, and how its rows become objects of an entity.
package struct ImportRequest: Sendable {
    /// A column whose fields name objects of an entity by a unique attribute.
    package struct Relation: Sendable {
        package let column: String
        package let entity: String
        package let attribute: String

        package init(column: String, entity: String, attribute: String) {
            (self.column, self.entity, self.attribute) = (column, entity, attribute)
        }
    }

    /// The path of the store, which is created if missing.
    package var store: String
    /// The paths of the catalogue's files, at least one; "-" is standard input.
    package let files: [String]
    package let format: CatalogueFormat
    /// Whether the file is an SQLite database. Its values then are as in CSV, whatever `format` is.
    package var isDatabase = false
    /// The table of the database; nil for its only table.
    package var table: String?
    /// The entity's name; the entity is created if missing.
    package let entity: String
    /// The attribute by which rows update objects. If nil, a row updates an object only by an object number; any other
    /// row is a new object.
    package var key: String?
    package var types = GivenTypes()
    /// The delimiter of CSV fields; see `CatalogueInput`.
    package var delimiter: UInt8?
    package var relations: [Relation] = []
    /// Whether related objects that are missing are inserted.
    package var insertsRelated = false
    /// The end of the sentence about a related object that is missing.
    package var missingObjectHint = ""
    /// Whether a stored entity gets the columns that it lacks.
    package var addsColumns = false
    package var skipsBadRows = false
    /// Whether lists and objects of JSON lines are read as JSON text.
    package var areListsText = false
    /// Whether the members of nested objects are columns with names such as `author.name`.
    package var flattens = false
    /// The members that lead to the list of a JSON document whose elements are the rows; nil for JSON lines.
    package var listPath: [String]?
    /// The largest share of the entity's objects that may be deleted because the file lacks them, in per cent. If nil,
    /// such objects stay; otherwise all rows are written in a single transaction.
    package var mostDeleted: Int?
    /// Whether the import is only previewed: all of it is one transaction, which is dropped.
    package var isDryRun = false
    /// Whether objects lose the values that their rows lack. Otherwise stored objects keep them.
    package var clearsMissing = false
    package var threads = Threads.available

    package init(store: String, files: [String], format: CatalogueFormat, entity: String) {
        precondition(!files.isEmpty, "An import needs a file.")
        (self.store, self.files, self.format, self.entity) = (store, files, format, entity)
    }

    /// Whether the file is the whole content of the entity.
    var replaces: Bool { mostDeleted != nil }

    /// The error for a name that isn't a column of the file.
    func unknownColumn(_ name: String, _ columns: [String]) -> ModelError {
        .unknownAttribute(entity: files[0], attribute: name, near: NearName(columns.nearest(to: name)))
    }

    /// The error for a column, which may be of any file.
    func badColumn(_ column: Int?, _ name: String, reason: String) -> BadInput {
        let names = files.map(CatalogueInput.name).joined(separator: ", ")
        let file = files.count == 1 ? names : "one of " + names.excerpt
        return BadInput(file: file, line: 1, column: column, columnName: name, reason: reason)
    }

    /// The error for a row, whose line number may be a `FileLine`'s.
    func badInput(line number: Int, column: Int? = nil, columnName: String? = nil, reason: String) -> BadInput {
        let place = FileLine(number: number)
        return BadInput(
            file: CatalogueInput.name(of: files[place.file]), line: place.line, column: column, columnName: columnName,
            reason: reason)
    }

    /// Throws if a given type, the key or a relation names a column that the file lacks.
    func requireNames(in columns: [String]) throws {
        let names = types.named.map(\.name) + [key].compactMap { $0 } + relations.map(\.column)
        if let unknown = names.first(where: { !columns.contains($0) }) { throw unknownColumn(unknown, columns) }
    }
}
