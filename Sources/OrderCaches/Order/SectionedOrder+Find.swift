package import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexCountedTree
package import FetchIndexRecords
internal import FetchIndexValues

extension SectionedOrder {
    /// The section at an index. Traps unless 0 <= index < sectionCount. O(log n).
    package func section(at index: Int) throws -> OrderSection {
        precondition(index >= 0 && index < sectionCount, "A section index must be less than the section count.")
        guard shape.hasSections else {
            let summary = try summary(ofRanks: 0..<rowCount)
            return OrderSection(name: "", count: rowCount, rowsBefore: 0, valueAndSummary: summary, valueLength: 0)
        }
        var found: OrderSection?
        try sections.entry(at: index) { entry, before in found = try section(entry, rowsBefore: before.weight) }
        guard let found else { throw Self.corrupted("section \(index) is missing") }
        return found
    }

    private func section(_ entry: borrowing TreeEntry, rowsBefore: Int) throws -> OrderSection {
        guard let parts = shape.valueAndHeading(in: entry.key) else {
            throw Self.corrupted("a section key is too short")
        }
        let value = entry.key.extracting(parts.value)
        let shown = entry.key.extracting(parts.heading ?? parts.value)
        var heading: [UInt8]?
        if let range = parts.heading { heading = [UInt8](copying: entry.key.extracting(range)) }
        return OrderSection(
            name: OrderShape.name(of: shown), count: entry.weight, rowsBefore: rowsBefore,
            valueAndSummary: [UInt8](copying: value, entry.summary), valueLength: value.byteCount, heading: heading)
    }

    /// Calls the body with one section after the other, starting at an index, until the body returns false. O(log n +
    /// sections).
    package func walkSections(from index: Int = 0, _ body: (consuming OrderSection) throws -> Bool) throws {
        guard shape.hasSections else {
            if index == 0 { _ = try body(try section(at: 0)) }
            return
        }
        guard index >= 0, index < sections.count else { return }
        var rowsBefore = index == 0 ? 0 : try section(at: index).rowsBefore
        try sections.walk(from: index) { entry in
            let section = try section(entry, rowsBefore: rowsBefore)
            rowsBefore += section.count
            return try body(section)
        }
    }

    /// The row at a position, which counts rows over all sections. Traps or throws unless 0 <= row < rowCount. O(log
    /// n).
    package func row(at row: Int) throws -> (object: RecordKey, path: RowPath) {
        guard shape.hasSections else { return (try object(atRank: row), RowPath(section: 0, row: row)) }
        var value: [UInt8]?
        var before = Measure.zero
        try sections.entry(atWeight: row) { entry, measure in
            value = OrderShape.sectionValue(in: entry.key)
            before = measure
        }
        guard let value else { throw Self.corrupted("a section key is too short") }
        let path = RowPath(section: before.count, row: row - before.weight)
        return (try object(atRank: try firstRank(of: value) + path.row), path)
    }

    func object(atRank rank: Int) throws -> RecordKey {
        guard rank < rows.count else { throw Self.corrupted("the sections count more rows than there are") }
        var object: RecordKey?
        try rows.entry(at: rank) { row, _ in object = RowKey.object(in: row.key, entity: entity) }
        guard let object else { throw Self.corrupted("a row key is too short") }
        return object
    }

    /// Calls the body with one row after the other, starting at a position and going over all sections in display
    /// order, until the body returns false. O(log n + rows + sections touched x log n).
    package func walkRows(from row: Int, _ body: (RecordKey, RowPath) throws -> Bool) throws {
        guard row >= 0, row < rowCount else { return }
        var index = 0
        var skipped = row
        if shape.hasSections && row > 0 {
            try sections.entry(atWeight: row) { _, before in
                index = before.count
                skipped = row - before.weight
            }
        }
        var shouldContinue = true
        try walkSections(from: index) { section in
            let first = try firstRank(of: section.value)
            var next = skipped
            skipped = 0
            try rows.walk(from: first + next) { row in
                guard next < section.count else { return false }
                guard let object = RowKey.object(in: row.key, entity: entity) else {
                    throw Self.corrupted("a row key is too short")
                }
                shouldContinue = try body(object, RowPath(section: index, row: next))
                next += 1
                return shouldContinue && next < section.count
            }
            index += 1
            return shouldContinue
        }
    }

    /// The path of the row at a rank of the rows tree, which has the rank. O(log n).
    package func path(atRank rank: Int) throws -> RowPath {
        guard shape.hasSections else { return RowPath(section: 0, row: rank) }
        var value: [UInt8] = []
        try rows.entry(at: rank) { row, _ in
            guard let length = OrderKey.lengthOfFirst(in: row.key), length <= row.key.byteCount else {
                throw Self.corrupted("a row key is too short")
            }
            value = [UInt8](copying: row.key.extracting(first: length))
        }
        guard let place = try place(of: value) else { throw Self.corrupted("a row's section is missing") }
        return RowPath(section: place.index, row: rank - place.firstRank)
    }

    /// The path of the row with a key; nil if the key isn't in the order. O(log n).
    func position(of key: RowKey) throws -> RowPath? {
        guard let rank = try rank(of: key), let place = try place(of: key.section) else { return nil }
        return RowPath(section: place.index, row: rank - place.firstRank)
    }

    /// Finds an object's row by the object's record, and returns its path; nil if the object isn't in the order.
    /// Records that key paths lead to are read in `state`. O(log n).
    package func position(
        of object: RecordKey, _ record: [UInt8], _ placer: any RowPlacer, in state: (any RecordState)? = nil
    ) throws -> RowPath? {
        var placement = RowPlacement(namesEntity: entity == nil)
        guard let key = try placer.key(of: object, record, in: state, &placement) else { return nil }
        return try position(of: key)
    }
}
