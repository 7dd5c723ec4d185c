internal import FetchIndexPlatform
internal import FetchIndexSorting
internal import FetchIndexCountedTree
internal import FetchIndexRecords
internal import FetchIndexValues

extension SectionedOrder {
    /// The memory in bytes for sorting the sections that are computed from the rows, to be compared with the sections
    /// tree. If it's exceeded, they are sorted on disk.
    private static let checkBudget = 32 << 20

    /// Looks for defects without the records, and returns them, one sentence each: the defects of its trees; if they
    /// have none, the first difference between the rows and the sections or headings. O(n log n) time; bounded memory,
    /// except for the node numbers. Throws if sorting needs a file that can't be written.
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

    /// Returns the next heading; nil in an order without headings. The caller passes sections in the order of their
    /// values. Throws if the heading doesn't belong to the section with this value.
    private func nextHeading(of value: [UInt8], _ headings: inout EntryPages) throws -> [UInt8]? {
        if !shape.hasHeadings { return nil }
        let next = try headings.next()
        guard next.starts(with: value) else { throw Self.corrupted("the headings are not those of the sections") }
        return Array(next[value.count...])
    }

    /// Compares the sections tree with the sections that were computed from the rows. Returns the first difference as
    /// one sentence, or an empty array.
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

    /// Compares the rows and headings with those that a builder computes from the records. Returns a sentence about the
    /// first difference in the rows, and one about the first different heading, if any. After a difference in the rows,
    /// only the first section's heading is compared.
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

/// Reads the entries of a tree in order, several at a time, for comparing them with those of another source.
private struct EntryPages {
    private static let pageLength = 512

    private let tree: CountedTree
    private let withWeights: Bool
    private var page: [[UInt8]] = []
    private var index = 0
    /// The number of times that `next` was called.
    private(set) var count = 0

    init(_ tree: CountedTree, withWeights: Bool = false) { (self.tree, self.withWeights) = (tree, withWeights) }

    /// Returns the next entry as `SortedEntry`; empty after the last one. If `withWeights`, the entry's weight follows
    /// the key.
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
