internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexModels

// Columns that an export writes beside attributes: object numbers, and the store that gave them.
extension EntityPreparation {
    /// Returns the names, such as `@id` and `@store`, whose columns are attributes. A column of such a name is an
    /// attribute unless it has what an export writes: object numbers, or identifiers of stores. If the entity has no
    /// links (a new one has none), the file must have both columns in this form. If a stored entity has links and gets
    /// no columns, the first number decides, so that a later text is a bad row.
    func attributeNames(_ stored: Entity?) throws -> Set<String> {
        guard let file else { return [] }
        let types = types(of: [])
        var names: Set<String> = []
        /// Returns the place of the column that an export writes under a name, with one more @ for each attribute that
        /// has the name.
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

    /// Returns the places whose columns have values, which are all object numbers or all store identifiers.
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
