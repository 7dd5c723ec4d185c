import FetchIndexCountedTree
import FetchIndexModels
import FetchIndexRecords
import FetchIndexTestSupport

@testable import FetchIndexOrderCaches

extension TestOrder {
    /// The changes of records that lead from some rows to others, by object number.
    static func changes(from old: [UInt64: TestRow], to new: [UInt64: TestRow]) throws -> [RecordChange] {
        try Set(old.keys).union(new.keys).sorted().filter { old[$0] != new[$0] }.map { number in
            RecordChange(
                object: RecordKey(entity: 0, number: number), old: try old[number]?.record(),
                new: try new[number]?.record())
        }
    }

    /// Makes the order of some rows in a node store.
    func order(of rows: [UInt64: TestRow], in nodes: MemoryNodeStore) throws -> SectionedOrder {
        var order = SectionedOrder(entity: 0, shape: try shape(), in: nodes)
        try order.update(try request().builder.edits(Self.changes(from: [:], to: rows), nil))
        return order
    }

    /// The oracle of windows: the sections that a window with this offset and limit must show.
    func window(of rows: [UInt64: TestRow], offset: Int, limit: Int?) -> [SectionContents] {
        var left = max(0, offset)
        var room = limit.map { max(0, $0) } ?? .max
        let shown = sections(of: rows).compactMap { section -> SectionContents? in
            let numbers = Array(section.rows.dropFirst(left).prefix(room))
            left -= min(left, section.rows.count)
            room -= numbers.count
            if hasSections && numbers.isEmpty { return nil }
            return SectionContents(name: section.name, rows: numbers, sums: sums(of: numbers.compactMap { rows[$0] }))
        }
        return shown
    }
}

extension Dictionary where Key == UInt64, Value == TestRow {
    /// Changes, adds or deletes up to `count` rows with these numbers.
    mutating func edit(_ count: Int, numbers: ClosedRange<UInt64>, using generator: inout SeededGenerator) {
        for _ in 0..<count {
            let number = UInt64.random(in: numbers, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: self[number] = nil
            case 1: self[number]?.note += 1
            default: self[number] = TestRow.random(using: &generator)
            }
        }
    }
}
