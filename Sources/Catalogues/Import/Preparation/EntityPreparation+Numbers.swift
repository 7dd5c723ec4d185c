internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexModels

// Columns that an export writes beside attributes: object numbers, and the store that gave them.
extension EntityPreparation {
    /// Returns the names of columns that are called like an export's `@id` and `@store` but are attributes: because
    /// their type is given, because they are the key, because another column has the name with one more @, or because
    /// they don't have what an export writes (object numbers, identifiers of stores). For an entity that no
    /// relationship involves, such as a new one, the file must have both columns as an export writes them; otherwise
    /// both are attributes. For other entities, if the request adds no columns, only the first value of `@id` is
    /// checked, so that a later text is a bad row.
    func attributeNames(_ stored: Entity?) throws -> Set<String> {
        guard let file else { return [] }
        let types = types(of: [])
        var names: Set<String> = []
        /// Returns the index of the column that an export writes under a name. If another column has the name with one
        /// more @, that column is the export's, and the first one is an attribute. Returns nil if the column is missing
        /// or is an attribute.
        func exported(_ name: String) -> Int? {
            var name = name
            while all.contains("@" + name) {
                names.insert(name)
                name = "@" + name
            }
            guard let place = all.firstIndex(of: name) else { return nil }
            if types[name] == nil && name != key { return place }
            names.insert(name)
            return nil
        }
        let (number, store) = (exported(RecordKey.numberName()), exported(RecordKey.storeName()))
        if stored?.links != nil && !request.addsColumns {
            if let number, try !startsWithNumber(number, file.reopened()) { names.insert(all[number]) }
            return names
        }
        let needsBoth = stored?.links == nil
        var exports: Set<Int> = []
        if !needsBoth || number != nil && store != nil {
            exports = try placesOfExport(number: number, store: store, file.reopened())
            if needsBoth && exports.count < 2 { exports = [] }
        }
        for place in [number, store] {
            if let place, !exports.contains(place) { names.insert(all[place]) }
        }
        return names
    }

    /// Returns the indexes of the columns as an export writes them: of `number` if it has values, all of which are
    /// object numbers, and of `store` if it has values, all of which are identifiers of stores.
    private func placesOfExport(number: Int?, store: Int?, _ rows: any RowSource) throws -> Set<Int> {
        var (left, found) = (Set([number, store].compactMap { $0 }), Set<Int>())
        try read(rows) { row in
            for place in left where !row.isNull(place) {
                let text = row.text(of: place)
                if place == number ? RelatedColumns.isNumber(text) : UUID(uuidString: text) != nil {
                    found.insert(place)
                } else {
                    left.remove(place)
                }
            }
            return left.isEmpty
        }
        return found.intersection(left)
    }

    /// Whether the first value of a column is an object number; true if the column has no values.
    private func startsWithNumber(_ place: Int, _ rows: any RowSource) throws -> Bool {
        var isNumber = true
        try read(rows) { row in
            if row.isNull(place) { return false }
            isNumber = RelatedColumns.isNumber(row.text(of: place))
            return true
        }
        return isNumber
    }

    /// Reads the rows that have a field for each column, until `isDecided` is true. Errors that end the reading are
    /// ignored here, because the import reads the rows again and throws them.
    private func read(_ rows: any RowSource, until isDecided: (FieldRow) -> Bool) throws {
        struct Decided: Error {}
        let count = rows.columns.count
        do {
            try rows.forEachRow({ if $0.count == count && isDecided($0) { throw Decided() } }, bad: { _ in })
        } catch is Decided {
        } catch is BadInput {
        } catch is UnreadableFile {}
    }
}
