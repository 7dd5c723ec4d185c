internal import FetchIndexCatalogues
internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexPlatform

// Columns that `export` writes beside attributes: the numbers of objects, and the store that gave them.
extension ImportCommand {
    /// The names of numbers and stores that attributes of the file have. Columns of these names are attributes unless they are what `export`
    /// writes: numbers, and identifiers of stores. An entity without links, as a new one, needs both.
    func attributeNames(
        _ columns: [String], _ stored: Entity?, _ types: [String: ValueType], _ rows: () throws -> any RowSource
    ) throws -> Set<String> {
        if stored?.links != nil && !addColumns { return [] }
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

    /// Those of two columns whose values are all numbers of objects, or all identifiers of stores.
    private func placesOfExport(number: Int?, store: Int?, _ rows: any RowSource) throws -> Set<Int> {
        struct Decided: Error {}
        var (left, found) = (Set([number, store].compactMap { $0 }), Set<Int>())
        let count = rows.columns.count
        do {
            try rows.forEachRow(
                { row in
                    guard row.count == count else { return }
                    for place in left where !row.isNull(place) {
                        let text = row.text(of: place)
                        if place == number ? RelatedColumns.isNumber(text) : UUID(uuidString: text) != nil {
                            found.insert(place)
                        } else {
                            left.remove(place)
                        }
                    }
                    if left.isEmpty { throw Decided() }
                }, bad: { _ in })
        } catch is Decided {
        } catch is BadInput {
        } catch is UnreadableFile {}
        // What ends the reading is met again, by who reads the rows.
        return found.intersection(left)
    }
}
