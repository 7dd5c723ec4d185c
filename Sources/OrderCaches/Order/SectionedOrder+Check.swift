internal import CountedTree
internal import Records
internal import Values

extension SectionedOrder {
    /// Everything that is wrong with the order in itself, one sentence each: both trees, and the sections tree against
    /// the rows. O(n).
    package func check(progress: (Int) -> Void = { _ in }) -> [String] {
        var visited: Set<NodeNumber> = []
        var defects = rows.check(visiting: &visited).map { "rows tree: \($0)" }
        defects += sections.check(visiting: &visited).map { "sections tree: \($0)" }
        guard defects.isEmpty, shape.hasSections else { return defects }
        do {
            var expected: [[UInt8]: Int] = [:]
            var row = 0
            try forEachSection(progress: {
                row = $0; progress($0)
            }) { key, count in expected[key] = count }
            progress(row)
            try sections.walk(from: 0) { key, weight in
                if expected.removeValue(forKey: [UInt8](copying: key)) != weight {
                    defects.append(
                        "section \"\(try Self.section(key, weight, rowsBefore: 0).name)\" does not agree with its rows")
                }
                return true
            }
            if !expected.isEmpty { defects.append("\(expected.count) sections of rows are not among the sections") }
        } catch {
            defects.append("\(error)")
        }
        return defects
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
