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
    package let store: String
    /// The path of the catalogue; "-" is standard input.
    package let file: String
    package let format: CatalogueFormat
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
    /// The largest share of the entity's objects that may be deleted because the file lacks them, in per cent. If nil,
    /// such objects stay; otherwise all rows are written in a single transaction.
    package var mostDeleted: Int?
    package var threads = Threads.available

    package init(store: String, file: String, format: CatalogueFormat, entity: String) {
        (self.store, self.file, self.format, self.entity) = (store, file, format, entity)
    }

    /// Whether the file is the whole content of the entity.
    var replaces: Bool { mostDeleted != nil }

    /// The error for a name that isn't a column of the file.
    func unknownColumn(_ name: String, _ columns: [String]) -> ModelError {
        .unknownAttribute(entity: file, attribute: name, near: NearName(columns.nearest(to: name)))
    }

    /// Throws if a given type, the key or a relation names a column that the file lacks.
    func requireNames(in columns: [String]) throws {
        let names = types.named.map(\.name) + [key].compactMap { $0 } + relations.map(\.column)
        if let unknown = names.first(where: { !columns.contains($0) }) { throw unknownColumn(unknown, columns) }
    }
}
