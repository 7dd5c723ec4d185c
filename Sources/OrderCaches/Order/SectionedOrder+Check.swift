internal import Bytes
internal import CountedTree
internal import Records
internal import Values

extension SectionedOrder {
    /// Of the sections of rows, which are sorted to be compared with the sections tree; more is sorted on disk.
    private static let checkBudget = 32 << 20
    private static let sectionsAtOnce = 512

    /// Everything that is wrong with the order in itself, one sentence each: both trees, and the sections tree against
    /// the rows. O(n log n), and bounded memory but for the numbers of the nodes.
    /// Throws when sorting needs a file that cannot be written.
    package func check(sortingIn folder: String = "/tmp", progress: (Int) -> Void = { _ in }) throws -> [String] {
        var visited: Set<NodeNumber> = []
        var defects = rows.check(visiting: &visited).map { "rows tree: \($0)" }
        defects += sections.check(visiting: &visited).map { "sections tree: \($0)" }
        guard defects.isEmpty, shape.hasSections else { return defects }
        do {
            var expected = KeySorter(memoryBudget: Self.checkBudget, folder: folder)
            var row = 0
            try forEachSection(progress: {
                row = $0; progress($0)
            }) { key, count in
                var keyAndCount = key
                keyAndCount.appendBigEndian(UInt64(count))
                try expected.append(keyAndCount)
            }
            progress(row)
            defects += try compareSections(with: &expected)
        } catch  where error.isDamage {
            defects.append("\(error)")
        }
        return defects
    }

    /// The first section that is not the one that the rows give, one sentence.
    private func compareSections(with expected: inout KeySorter) throws -> [String] {
        var page: [[UInt8]] = []
        var next = 0
        var index = 0
        var defects: [String] = []
        try expected.forEachSorted { keyAndCount in
            guard defects.isEmpty else { return }
            if next == page.count {
                page = try sectionKeys(from: index)
                next = 0
            }
            let stored = next < page.count ? page[next] : []
            if !keyAndCount.isEqual(to: stored.span.bytes) {
                let key = keyAndCount.extracting(first: keyAndCount.byteCount - 8)
                let name = try Self.section(key, 0, rowsBefore: 0).name
                defects.append("section \"\(name)\" of rows is not as the sections tree has it")
            }
            next += 1
            index += 1
        }
        if defects.isEmpty, index != sections.count {
            defects.append("there are \(sections.count) sections for the rows of \(index)")
        }
        return defects
    }

    /// Keys of the sections tree with their weights behind them.
    private func sectionKeys(from index: Int) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        try sections.walk(from: index) { key, weight in
            var keyAndCount = [UInt8](copying: key)
            keyAndCount.appendBigEndian(UInt64(weight))
            keys.append(keyAndCount)
            return keys.count < Self.sectionsAtOnce
        }
        return keys
    }

    /// Goes through the rows tree and calls the body with each section's key and count.
    private func forEachSection(progress: (Int) -> Void, _ body: ([UInt8], Int) throws -> Void) throws {
        var value: [UInt8]?
        var first: [UInt8] = []
        var count = 0
        var total = 0
        func end() throws {
            if let value { try body(shape.sectionKey(value: value, firstRow: first, count: count), count) }
        }
        try rows.walk(from: 0) { key, _ in
            guard let length = OrderKey.lengthOfFirst(in: key) else { throw Self.corrupted("a row key has no section") }
            let section = [UInt8](copying: key.extracting(first: length))
            if section != value {
                try end()
                value = section
                first = [UInt8](copying: key.extracting(length..<key.byteCount))
                count = 0
            }
            count += 1
            total += 1
            if total % 4096 == 0 { progress(total) }
            return true
        }
        try end()
    }
}
