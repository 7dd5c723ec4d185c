internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexInspection

/// The sections and rows of an order that `fetch` prints.
struct FetchedRange {
    let sections: Range<Int>
    let rows: Range<Int>
    /// The rows of `rows` that are printed; nil if all of them are.
    private(set) var sample: [Int]?
    /// The ends that the ranges would have without limits. Tables say how many more sections and rows are left.
    let end: (sections: Int, rows: Int)

    /// Makes ranges of the whole order's sections and rows. Offsets and limits are clamped to the order's size.
    init(of order: FetchedOrder, sectionOffset: Int, sectionLimit: Int?, rowOffset: Int, rowLimit: Int?) {
        sections = Self.range(sectionOffset, sectionLimit, order.sectionCount)
        rows = Self.range(rowOffset, rowLimit, order.rowCount)
        end = (order.sectionCount, order.memberCount)
    }

    /// Makes the range of one section, and the range of some of its rows.
    init(_ index: Int, _ section: FetchedSection, rowOffset: Int, rowLimit: Int?) {
        sections = index..<index + 1
        let own = Self.range(rowOffset, rowLimit, section.count)
        rows = section.rowsBefore + own.lowerBound..<section.rowsBefore + own.upperBound
        end = (index + 1, section.rowsBefore + section.count)
    }

    /// Makes the range of all sections and of one of several equal parts of the rows.
    init(of order: FetchedOrder, _ part: RowPart) {
        sections = 0..<order.sectionCount
        rows = order.rows(inPart: part.part - 1, of: part.count)
        end = (order.sectionCount, rows.upperBound)
    }

    /// The range with only rows that are chosen by chance.
    func sampled(_ count: Int, seed: UInt64, _ order: FetchedOrder) -> FetchedRange {
        var range = self
        range.sample = order.sample(count, seed: seed, inRows: rows)
        return range
    }

    private static func range(_ offset: Int, _ limit: Int?, _ count: Int) -> Range<Int> {
        let start = min(offset, count)
        return start..<start + min(limit ?? count, count - start)
    }
}

extension FetchedOrder {
    /// Calls the body with the rows of a range.
    func forEachRow(of range: FetchedRange, _ body: (FetchedRow) throws -> Void) throws {
        if let sample = range.sample {
            for row in sample { try withRow(at: row, body) }
        } else if !range.rows.isEmpty {
            try forEachRow(from: range.rows.lowerBound, limit: range.rows.count, body)
        }
    }

    /// Returns the section with a name or a title. Throws if no section has it; warns if several have it.
    func requireSection(named name: String, _ titles: SectionTitles) throws -> (index: Int, section: FetchedSection) {
        guard let (index, section, others) = try self.section(named: name, titles) else {
            throw Failure("there is no section \"\(name)\"")
        }
        if others > 0 {
            Output.error(
                "\(others + 1) sections are called \"\(name.visible)\"; printing the one of object "
                    + "\(section.objectID?.number ?? 0)")
        }
        return (index, section)
    }

    /// Returns the first section with a name or a title, compared by bytes, and the number of further sections with the
    /// same name: related objects, each with a section, can share a name. For an empty name that no section has,
    /// returns the section of null. Returns nil if no section is found. O(sections).
    private func section(named name: String, _ titles: SectionTitles) throws -> (
        index: Int, section: FetchedSection, others: Int
    )? {
        var found: (Int, FetchedSection, Int)?
        var ofNull: (Int, FetchedSection, Int)?
        var index = 0
        try forEachSection { section in
            if section.isNull {
                ofNull = (index, section, 0)
            } else if section.name.utf8.elementsEqual(name.utf8)
                || titles.title(section.name).utf8.elementsEqual(name.utf8)
            {
                if found == nil { found = (index, section, 0) } else { found?.2 += 1 }
            }
            index += 1
            return found == nil || section.objectID != nil
        }
        return found ?? (name.isEmpty ? ofNull : nil)
    }
}
