internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

// For printers: they name columns, find damage before they print anything, and print how many rows they leave out. Also
// for the search of the live page. Users read sections and rows.
extension FetchedOrder {
    private static let rowsLookedUp = 100

    /// Finds an attribute of the requested entity, or a key path through to-one relationships to an attribute or an
    /// object. O(entities x names). Throws `StoreError.unknownAttribute`, and `RequestError` for a path that leads to
    /// many objects.
    package func column(_ name: String) throws -> FetchedColumn {
        let entities = [entityNumber] + others.keys
        return try withPublicErrors { try FetchedColumn(name, of: entities, in: reader.model) }
    }

    /// The type of the first sort key; nil if the order has none.
    package func typeOfFirstSortKey() throws -> ValueType? {
        try withPublicErrors { try (builder.placer(of: entityNumber) as? RecordPlacer)?.first?.column.type }
    }

    /// All attributes of the requested entity.
    package var attributeColumns: [FetchedColumn] {
        entity.attributes.indices.map { FetchedColumn(attribute: $0, of: entity) }
    }

    /// Whether rows may be objects of several entities.
    package var hasSubentities: Bool { opened.order.entity == nil }

    /// The number of matching objects. It exceeds `rowCount` if `OrderOptions.limitRows` left out rows and also counted
    /// them. O(1).
    package var memberCount: Int { opened.memberCount }

    /// Reads the cached data of the given sections and rows, and the aggregates of all rows, so that a printer finds
    /// damage in them before it prints anything. Looks up the records of the first 100 of the given rows. O(log n +
    /// sections + rows).
    package func prove(sections: Range<Int>, rows: Range<Int>) throws {
        var left = sections.count
        if left > 0 {
            try opened.order.walkSections(from: sections.lowerBound) { section in
                try opened.order.shape.aggregates.prove(section.summary)
                left -= 1
                return left > 0
            }
        }
        try opened.order.shape.aggregates.prove(opened.order.summary(ofRows: 0..<rowCount))
        left = rows.count
        if left > 0 {
            var looked = 0
            try opened.order.walkRows(from: rows.lowerBound) { object, _ in
                looked += 1
                // If the order was made from other records, some of the first rows probably have no record.
                if looked <= Self.rowsLookedUp, try !shown.state.record(object, { _ in }) {
                    throw stale(object)
                }
                left -= 1
                return left > 0
            }
        }
    }

    /// Calls the body with the rows that match a predicate. Reads rows starting at `row`, until `isOver` returns true
    /// for the index of the next row, or until the end. Returns the index of the next row. O(log n) for each row that
    /// is read. Throws like `forEachRow`, and `FetchPredicateError` or `RequestError` if the predicate doesn't fit the
    /// entity.
    package func search(
        _ predicate: FetchPredicate, from row: Int, until isOver: (_ row: Int) -> Bool,
        _ body: (_ row: Int, FetchedRow) throws -> Void
    ) throws -> Int {
        try noting {
            let builder = try OrderDefinition(entity: entity.name, predicate: predicate).compile(in: reader.model)
                .builder
            var placement = RowPlacement()
            var next = row
            if next >= rowCount { return next }
            try opened.order.walkRows(from: row) { object, path in
                let isFound = try shown.state.record(object) { record in
                    placement.begin()
                    guard let placer = try builder.placer(of: object.entity),
                        try placer.place(object, record, in: shown.state, &placement)
                    else { return }
                    try withRow(object, path) { try body(next, $0) }
                }
                if !isFound { throw stale(object) }
                next += 1
                return !isOver(next)
            }
            return next
        }
    }
}

extension PersistentContainer.OrderOptions {
    /// Limits an order without cache, sections and aggregates to its first rows. If `countingAll`, the order also
    /// counts the rows that the limit leaves out.
    package mutating func limitRows(to most: Int, countingAll: Bool) {
        wantedRows = WantedRows(most: most, countsAll: countingAll)
    }
}

extension SectionKey {
    /// The index title of a section. If the section key makes index titles, it's the section's name; otherwise the
    /// upper-cased first character of the name. Nil if the name is empty.
    package static func indexTitle(ofSectionNamed name: String, _ key: SectionKey?) -> String? {
        if case .indexTitle = key { return name.isEmpty ? nil : name }
        return name.first.map { $0.uppercased() }
    }
}
