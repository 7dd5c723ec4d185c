internal import FetchIndexCatalogues
internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexEssentials

// Columns that `export` writes beside attributes: the numbers of objects, and the store that gave them.
extension ImportCommand {
    /// The names of numbers and stores that attributes of the file have. Columns of these names are attributes unless they are what `export`
    /// writes: numbers, and identifiers of stores. An entity without links, as a new one, needs both. For a stored one with links the first
    /// number decides, so that a text behind it is a bad row.
    func attributeNames(
        _ columns: [String], _ stored: Entity?, _ types: [String: ValueType], _ rows: () throws -> any RowSource
    ) throws -> Set<String> {
        var names: Set<String> = []
        /// The column that `export` writes under a name, with one more @ for each attribute that has it.
        func exported(_ name: String) -> Int? {
            var name = name
            while columns.contains("@" + name) {
                names.insert(name)
                name = "@" + name
            }
            guard let place = columns.firstIndex(of: name) else { return nil }
            if types[name] == nil && name != key { return place }
            names.insert(name)
            return nil
        }
        let (number, store) = (exported(RecordKey.numberName()), exported(RecordKey.storeName()))
        if stored?.links != nil && !addColumns {
            if let number, try !startsWithNumber(number, rows()) { names.insert(columns[number]) }
            return names
        }
        let needsBoth = stored?.links == nil
        var exports: Set<Int> = []
        if !needsBoth || number != nil && store != nil {
            exports = try placesOfExport(number: number, store: store, rows())
            if needsBoth && exports.count < 2 { exports = [] }
        }
        for place in [number, store] {
            if let place, !exports.contains(place) { names.insert(columns[place]) }
        }
        return names
    }

    /// The columns whose values are all object numbers, or all identifiers of stores.
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

    /// Whether the first value of a column is the number of an object; true without values.
    private func startsWithNumber(_ place: Int, _ rows: any RowSource) throws -> Bool {
        var isNumber = true
        try read(rows) { row in
            if row.isNull(place) { return false }
            isNumber = RelatedColumns.isNumber(row.text(of: place))
            return true
        }
        return isNumber
    }

    /// Reads whole rows until one decides.
    private func read(_ rows: any RowSource, until isDecided: (FieldRow) -> Bool) throws {
        struct Decided: Error {}
        let count = rows.columns.count
        do {
            try rows.forEachRow({ if $0.count == count && isDecided($0) { throw Decided() } }, bad: { _ in })
        } catch is Decided {
        } catch is BadInput {
        } catch is UnreadableFile {}
        // An error that ends the reading is found again when the rows are imported.
    }
}
