internal import FetchIndexPlatform
internal import FetchIndexSorting
internal import FetchIndexCountedTree
internal import FetchIndexRecords
internal import FetchIndexValues

extension SectionedOrder {
    /// For the sections of the rows, which are sorted to be compared with the sections tree; more are sorted on disk.
    private static let checkBudget = 32 << 20

    /// Every defect of the order in itself, one sentence each: both trees, and the sections tree against the rows.
    /// O(n log n), and bounded memory except for the numbers of the nodes. Throws when sorting needs a file that cannot be
    /// written.
    package func check(sortingIn folder: String = "/tmp") throws -> [String] {
        var visited: Set<NodeNumber> = []
        var defects = rows.check(visiting: &visited).map { "rows tree: \($0)" }
        defects += sections.check(visiting: &visited).map { "sections tree: \($0)" }
        if shape.hasHeadings { defects += headings.check(visiting: &visited).map { "headings tree: \($0)" } }
        guard defects.isEmpty, shape.hasSections else { return defects }
        do {
            let expected = KeySorter(memoryBudget: Self.checkBudget, folder: folder)
            var section = OrderBuilder.OpenSection(shape)
            var headings = EntryPages(self.headings)
            func end(_ section: OrderBuilder.OpenSection) throws {
                try expected.append(section.keyAndCount(shape, nextHeading(of: section.value, &headings)))
            }
            try rows.walk(from: 0) { row in
                try section.add(row.key, row.summary) { try end($0) }
                return true
            }
            if section.count > 0 { try end(section) }
            defects += try compareSections(with: expected)
        } catch  where error.isDamage {
            defects.append("\(error)")
        }
        return defects
    }

    /// The heading of the next section by value; nil in an order without headings. Throws when it is another section's.
    private func nextHeading(of value: [UInt8], _ headings: inout EntryPages) throws -> [UInt8]? {
        if !shape.hasHeadings { return nil }
        let next = try headings.next()
        guard next.starts(with: value) else { throw Self.corrupted("the headings are not those of the sections") }
        return Array(next[value.count...])
    }

    /// The first section that is not the one that the rows give, one sentence.
    private func compareSections(with expected: KeySorter) throws -> [String] {
        var stored = EntryPages(sections, withWeights: true)
        var defects: [String] = []
        try expected.forEachSorted { section in
            guard defects.isEmpty else { return }
            let next = try stored.next()
            if section.isEqual(to: next.span.bytes) { return }
            try SortedEntry.withParts(of: section, in: shape) { keyAndCount, _ in
                let key = keyAndCount.extracting(first: keyAndCount.byteCount - 8)
                let value = OrderShape.sectionValue(in: key) ?? []
                let name = OrderShape.name(of: value.span.bytes)
                defects.append("section \"\(name)\" of the rows tree differs in the sections tree")
            }
        }
        if defects.isEmpty, stored.count != sections.count {
            defects.append("the sections tree has \(counted(sections.count, "section")), the rows have \(stored.count)")
        }
        return defects
    }

    /// The first row that is not the one that a builder computes, one sentence.
    func compare(withRowsOf builder: OrderBuilder, from reader: StoreReader) throws -> [String] {
        var stored = EntryPages(rows)
        var defects: [String] = []
        try builder.forEachSortedKey(from: reader) { key in
            let next = try stored.next()
            if key.isEqual(to: next.span.bytes) || !defects.isEmpty { return }
            defects.append("row \(stored.count - 1) of the rows tree is not the one that the records give")
        }
        if defects.isEmpty && stored.count != rowCount {
            defects.append("it has \(counted(rowCount, "row")); the records give \(stored.count)")
        }
        guard let headings = builder.headings else { return defects }
        try walkSections { section in
            if try section.heading != headings.heading(of: section.value, in: reader) {
                defects.append("the heading of section \"\(section.name)\" is not the one that the records give")
            }
            return defects.isEmpty
        }
        return defects
    }
}

/// Reads the entries of a tree in order, some at a time, to compare them with those of another source.
private struct EntryPages {
    private static let pageLength = 512

    private let tree: CountedTree
    private let withWeights: Bool
    private var page: [[UInt8]] = []
    private var index = 0
    /// How often `next` was called.
    private(set) var count = 0

    init(_ tree: CountedTree, withWeights: Bool = false) { (self.tree, self.withWeights) = (tree, withWeights) }

    /// The next entry as `SortedEntry`, its key followed by its weight where that is wanted; empty after the last.
    mutating func next() throws -> [UInt8] {
        if index == page.count {
            (page, index) = ([], 0)
            try tree.walk(from: count) { entry in
                var bytes = [UInt8](copying: entry.key)
                if withWeights { bytes.appendBigEndian(UInt64(entry.weight)) }
                if tree.summarizer != nil {
                    SortedEntry.append(summary: [UInt8](copying: entry.summary), to: &bytes)
                }
                page.append(bytes)
                return page.count < Self.pageLength
            }
        }
        count += 1
        guard index < page.count else { return [] }
        index += 1
        return page[index - 1]
    }
}
