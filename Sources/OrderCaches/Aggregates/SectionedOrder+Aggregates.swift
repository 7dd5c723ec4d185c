internal import FetchIndexCountedTree

extension SectionedOrder {
    /// Computes the summary of a range of rows, counted over all sections in display order; empty in an order without
    /// aggregates. Throws if the range isn't within the rows, because damage may change their number. O(log n).
    package func summary(ofRows range: Range<Int>) throws -> [UInt8] {
        guard range.lowerBound >= 0, range.upperBound <= rowCount else {
            throw Self.corrupted(
                "rows \(range.lowerBound)..<\(range.upperBound) are wanted, but the order has only \(rowCount)")
        }
        guard shape.hasSections, !range.isEmpty else { return try summary(ofRanks: range) }
        guard let sum = shape.summarizer?.begin() else { return [] }
        let first = try summedSection(atRow: range.lowerBound)
        let last = range.upperBound <= first.end ? first : try summedSection(atRow: range.upperBound - 1)
        guard first.index <= last.index, last.index < sections.count else {
            throw Self.corrupted("the sections are out of order")
        }
        func add(_ rows: Range<Int>, of section: SummedSection) throws {
            let firstRank = try firstRank(of: section.value) - section.rowsBefore
            let part = try summary(ofRanks: firstRank + rows.lowerBound..<firstRank + rows.upperBound)
            try sum.add(part.span.bytes)
        }
        // The sections tree sums up whole sections, and the rows tree sums up parts of sections.
        var whole = first.index..<last.index + 1
        if range.lowerBound > first.rowsBefore || range.upperBound < first.end {
            try add(range.clamped(to: first.rowsBefore..<first.end), of: first)
            whole = whole.dropFirst()
        }
        if !whole.isEmpty, range.upperBound < last.end {
            try add(last.rowsBefore..<range.upperBound, of: last)
            whole = whole.dropLast()
        }
        let between = try sections.summary(ofRanks: whole)
        try sum.add(between.span.bytes)
        return sum.take()
    }

    private struct SummedSection {
        let index: Int
        let rowsBefore: Int
        let count: Int
        let value: [UInt8]

        var end: Int { rowsBefore + count }
    }

    private func summedSection(atRow row: Int) throws -> SummedSection {
        var found: SummedSection?
        try sections.entry(atWeight: row) { entry, before in
            guard let value = OrderShape.sectionValue(in: entry.key) else { return }
            found = SummedSection(index: before.count, rowsBefore: before.weight, count: entry.weight, value: value)
        }
        guard let found else { throw Self.corrupted("a section key is too short") }
        return found
    }

    /// The summary of the rows in a range of ranks of the rows tree.
    func summary(ofRanks ranks: Range<Int>) throws -> [UInt8] {
        if shape.aggregates.isEmpty { return [] }
        guard ranks.lowerBound >= 0, ranks.upperBound <= rows.count else {
            throw Self.corrupted("the sections count more rows than there are")
        }
        return try rows.summary(ofRanks: ranks)
    }
}
