package import FetchIndexModels
package import FetchIndexRecords

/// A range of an order's rows over all its sections, given by an offset and a limit, with the sections of these rows.
///
/// The row paths of a window count its own sections and rows. A window doesn't copy rows: it refers to a range of its
/// order.
package struct OrderWindow {
    package let order: SectionedOrder
    /// The positions of the window's rows in the order.
    private let rows: Range<Int>
    private let firstSection: Int
    package let sectionCount: Int
    /// The number of rows in the window's first section that are before the window.
    private let skipped: Int

    /// Creates a window. O(log n); O(1) if it contains all rows.
    package init(_ order: SectionedOrder, offset: Int = 0, limit: Int? = nil) throws {
        let start = min(max(offset, 0), order.rowCount)
        let end = limit.map { start + min(max($0, 0), order.rowCount - start) } ?? order.rowCount
        self.order = order
        rows = start..<end
        if rows.count == order.rowCount {
            firstSection = 0
            skipped = 0
            sectionCount = order.sectionCount
        } else if rows.isEmpty {
            firstSection = 0
            skipped = 0
            sectionCount = order.shape.hasSections ? 0 : 1
        } else {
            let first = try order.row(at: start).path
            firstSection = first.section
            skipped = first.row
            sectionCount = try order.row(at: end - 1).path.section - first.section + 1
        }
    }

    package var rowCount: Int { rows.count }

    /// The section at an index. Throws unless 0 <= index < sectionCount: callers check the index, but because of damage
    /// the window may have fewer sections than they know. O(log n).
    package func section(at index: Int) throws -> OrderSection {
        guard index >= 0, index < sectionCount else { throw SectionedOrder.corrupted("there is no section \(index)") }
        if rows.isEmpty { return try emptySection() }
        return try clipped(try order.section(at: firstSection + index))
    }

    private func emptySection() throws -> OrderSection {
        OrderSection(
            name: "", count: 0, rowsBefore: 0, valueAndSummary: try order.summary(ofRows: 0..<0), valueLength: 0)
    }

    private func clipped(_ section: consuming OrderSection) throws -> OrderSection {
        if rows.count == order.rowCount { return section }
        let range = (section.rowsBefore..<section.rowsBefore + section.count).clamped(to: rows)
        return OrderSection(
            name: section.name, count: range.count, rowsBefore: max(0, range.lowerBound - rows.lowerBound),
            valueAndSummary: range.count == section.count
                ? section.valueAndSummary : section.value + (try order.summary(ofRows: range)),
            valueLength: section.valueLength, heading: section.heading)
    }

    /// The summary of a range of the window's rows over its sections; empty in an order without aggregates. Throws if
    /// the range isn't within the rows, because damage may change their number. O(log n).
    package func summary(ofRows range: Range<Int>) throws -> [UInt8] {
        guard range.lowerBound >= 0, range.upperBound <= rows.count else {
            throw SectionedOrder.corrupted(
                "rows \(range.lowerBound)..<\(range.upperBound) are wanted, but the window has only \(rows.count)")
        }
        return try order.summary(ofRows: rows.lowerBound + range.lowerBound..<rows.lowerBound + range.upperBound)
    }

    /// Returns at most `most` sections, starting at an index, in reversed order: the section at the index is the last
    /// one. O(log n + sections).
    package func reversedSections(from index: Int, _ most: Int) throws -> [OrderSection] {
        if most < 1 { return [] }
        var sections: [OrderSection] = []
        sections.reserveCapacity(min(most, max(0, sectionCount - index)))
        try walkSections(from: index) { section in
            sections.append(section)
            return sections.count < most
        }
        sections.reverse()
        return sections
    }

    /// Calls the body with one section after the other, starting at an index, until the body returns false. O(log n +
    /// sections).
    package func walkSections(from index: Int = 0, _ body: (consuming OrderSection) throws -> Bool) throws {
        var left = sectionCount - index
        guard left > 0 else { return }
        if rows.isEmpty {
            _ = try body(try section(at: 0))
            return
        }
        try order.walkSections(from: firstSection + index) { section in
            left -= 1
            return try body(try clipped(section)) && left > 0
        }
    }

    /// The row at a position, which counts rows over all sections. Throws unless 0 <= row < rowCount, because damage
    /// may change the count. O(log n).
    package func row(at row: Int) throws -> (object: RecordKey, path: RowPath) {
        guard row >= 0, row < rows.count else { throw SectionedOrder.corrupted("there is no row \(row)") }
        let (object, path) = try order.row(at: rows.lowerBound + row)
        return (object, inWindow(path))
    }

    /// The object of the row at a path; nil if the row doesn't exist. O(log n).
    package func object(at path: RowPath) throws -> RecordKey? {
        guard path.section >= 0, path.section < sectionCount else { return nil }
        let section = try section(at: path.section)
        guard path.row >= 0, path.row < section.count else { return nil }
        return try row(at: section.rowsBefore + path.row).object
    }

    /// Calls the body with one row after the other, starting at a position, until the body returns false.
    package func walkRows(from row: Int = 0, _ body: (RecordKey, RowPath) throws -> Bool) throws {
        var left = rows.count - row
        guard left > 0 else { return }
        try order.walkRows(from: rows.lowerBound + row) { object, path in
            left -= 1
            return try body(object, inWindow(path)) && left > 0
        }
    }

    /// Finds an object's row by the object's record, and returns its path; nil if the row isn't in the window. O(log
    /// n).
    package func position(
        of object: RecordKey, _ record: [UInt8], _ placer: any RowPlacer, in state: any RecordState
    ) throws -> RowPath? {
        guard let path = try order.position(of: object, record, placer, in: state) else { return nil }
        if rows.count == order.rowCount { return path }
        let row = try order.section(at: path.section).rowsBefore + path.row
        return rows.contains(row) ? inWindow(path) : nil
    }

    private func inWindow(_ path: RowPath) -> RowPath {
        RowPath(section: path.section - firstSection, row: path.row - (path.section == firstSection ? skipped : 0))
    }

    /// The objects of all rows in the window, by section. O(rows + sections x log n).
    package func objects() throws -> [[RecordKey]] {
        var objects = [[RecordKey]](repeating: [], count: sectionCount)
        try walkRows { object, path in
            guard path.section < objects.count else {
                throw SectionedOrder.corrupted("the sections count fewer rows than there are")
            }
            objects[path.section].append(object)
            return true
        }
        return objects
    }
}
