import FetchIndex

final class Part: ManagedObject {
    @Attribute("code", isUnique: true) var code: String
    @Attribute("kind") var kind: String?
    @Attribute("size") var size: Int?
    @Attribute("note") var note: String?
    @Attribute("stock") var stock = 0

    override class var uniqueAttributes: [[String]] { [["kind", "size"]] }
}

/// The rows that a store must have, computed by the rules for unique values.
struct PartTable {
    struct Row: Equatable {
        var code: String
        var kind: String?
        var size: Int?

        func conflicts(with other: Row) -> Bool { code == other.code || sharesPair(with: other) }

        func sharesPair(with other: Row) -> Bool {
            kind != nil && size != nil && kind == other.kind && size == other.size
        }
    }

    struct Edits {
        var deleted: [UInt64] = []
        var updated: [UInt64: Row] = [:]
        var inserted: [Row] = []
    }

    var rows: [UInt64: Row] = [:]
    private var next: UInt64 = 1

    var listing: [String] {
        rows.sorted { $0.value.code < $1.value.code }.map { number, row in
            "#\(number) \(row.code) \(row.kind ?? "-") \(row.size.map { "\($0)" } ?? "-") -"
        }
    }

    /// The table after a save; nil if the save must fail.
    func saving(_ edits: Edits) -> PartTable? {
        var table = self
        for number in edits.deleted { table.rows[number] = nil }
        for (number, row) in edits.updated { table.rows[number] = row }
        guard table.isValid else { return nil }
        var taken: Set<UInt64> = []
        for row in edits.inserted {
            let found =
                table.rows.first { $0.value.code == row.code } ?? table.rows.first { $0.value.sharesPair(with: row) }
            if let number = found?.key {
                guard taken.insert(number).inserted else { return nil }
                table.rows[number] = row
            } else {
                table.rows[table.next] = row
                taken.insert(table.next)
                table.next += 1
            }
            guard table.isValid else { return nil }
        }
        return table
    }

    private var isValid: Bool {
        let all = Array(rows.values)
        return all.indices.allSatisfy { first in
            all.indices.allSatisfy { first == $0 || !all[first].conflicts(with: all[$0]) }
        }
    }
}
