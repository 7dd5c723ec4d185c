import Models
import Records
import TestSupport
import Values

@testable import OrderCaches

/// Rows of the tests: a group (nil: no section), a rank to sort by, and whether the row is a member.
struct TestRow: Hashable {
    var group: String?
    var rank: Int64
    var isMember = true
    /// A value that shapes nothing.
    var note: Int64 = 0

    static let model = Model(entities: [
        Entity(
            "Row",
            [
                AttributeDescription("group", .string), AttributeDescription("rank", .integer),
                AttributeDescription("member", .boolean),
                AttributeDescription("note", .integer),
            ]),
        Entity("Other", [AttributeDescription("name", .string)]),
    ])

    func record() throws -> [UInt8] {
        try TestRow.model.entities[0].record([
            group.map(Value.string) ?? .null, .integer(rank), .boolean(isMember), .integer(note),
        ])
    }

    init(group: String?, rank: Int64, isMember: Bool = true, note: Int64 = 0) {
        self.group = group
        self.rank = rank
        self.isMember = isMember
        self.note = note
    }

    init(_ record: [UInt8]) throws {
        let values = try TestRow.model.entities[0].values(of: record.span.bytes)
        if case .string(let text) = values[0] { group = text } else { group = nil }
        if case .integer(let number) = values[1] { rank = number } else { rank = 0 }
        isMember = values[2] == .boolean(true)
        if case .integer(let number) = values[3] { note = number }
    }

    static func random(using generator: inout SeededGenerator, groups: Int = 4, ranks: Int64 = 5) -> TestRow {
        let group = Int.random(in: 0...groups, using: &generator)
        return TestRow(
            group: group == 0 ? nil : String(repeating: "g", count: group),
            rank: .random(in: 0...ranks, using: &generator),
            isMember: Int.random(in: 0..<6, using: &generator) > 0, note: .random(in: 0...3, using: &generator))
    }
}

/// Places test rows by group and rank.
final class TestPlacer: RowPlacer {
    let hasSections: Bool
    let isDescending: Bool

    init(hasSections: Bool, isDescending: Bool = false) {
        self.hasSections = hasSections
        self.isDescending = isDescending
    }

    func copy() -> any RowPlacer { self }

    func place(_ bytes: RawSpan, _ placement: inout RowPlacement) throws -> Bool {
        let record = try RecordView(bytes)
        guard let member = try record.range(of: 2), try record.boolean(member) else { return false }
        if hasSections { try record.appendOrderKey(of: 0, as: .string, to: &placement.key) }
        placement.sectionLength = placement.key.count
        try record.appendOrderKey(of: 1, as: .integer, to: &placement.key)
        if isDescending { OrderKey.reverse(&placement.key, from: placement.sectionLength) }
        return true
    }
}

/// An order's definition in the tests, and what it means: sort and group from scratch.
struct TestOrder: CustomStringConvertible {
    var hasSections: Bool
    var isDescending = false
    var sectionOrder = OrderShape.SectionOrder.byFirstRow

    static let all: [TestOrder] =
        [false, true].flatMap { isDescending in
            [
                TestOrder(hasSections: false, isDescending: isDescending),
                TestOrder(hasSections: true, isDescending: isDescending),
                TestOrder(hasSections: true, isDescending: isDescending, sectionOrder: .byName()),
                TestOrder(hasSections: true, isDescending: isDescending, sectionOrder: .byName(descending: true)),
                TestOrder(hasSections: true, isDescending: isDescending, sectionOrder: .byCount()),
                TestOrder(hasSections: true, isDescending: isDescending, sectionOrder: .byCount(descending: false)),
            ]
        }

    var description: String { "sections \(hasSections) \(sectionOrder), descending \(isDescending)" }

    func request() throws -> OrderRequest {
        let shape = try OrderShape(hasSections: hasSections, sectionOrder: sectionOrder)
        let builder = OrderBuilder(
            entity: 0, shape: shape, placer: TestPlacer(hasSections: hasSections, isDescending: isDescending))
        return OrderRequest(
            builder: builder,
            identity: CacheIdentity(
                entity: "Row", reads: "0:6,1:2,2:1", predicate: "member == TRUE",
                sort: isDescending ? "rank:desc" : "rank",
                section: "\(hasSections) \(sectionOrder)", collation: ""))
    }

    /// The sections with their names and object numbers, computed from all rows.
    func sections(of rows: [UInt64: TestRow]) -> [(name: String, rows: [UInt64])] {
        func isBefore(_ left: UInt64, _ right: UInt64) -> Bool {
            guard let leftRank = rows[left]?.rank, let rightRank = rows[right]?.rank, leftRank != rightRank else {
                return left < right
            }
            return isDescending ? leftRank > rightRank : leftRank < rightRank
        }
        let members = rows.filter(\.value.isMember).map(\.key)
        let value = { PlainSectionValue(rows[$0]?.group) }
        let order: PlainSectionOrder =
            switch sectionOrder {
            case .byFirstRow: .byFirstRow
            case .byName(let isDescending, _): .byName(isDescending: isDescending)
            case .byCount(let isDescending): .byCount(isDescending: isDescending)
            }
        return plainSections(of: members, by: isBefore, in: hasSections ? value : nil, order)
    }
}

extension SectionedOrder {
    /// Names and object numbers, read by walks.
    func contents() throws -> [(name: String, rows: [UInt64])] {
        var contents: [(name: String, rows: [UInt64])] = []
        try walkSections { section in
            contents.append((section.name, []))
            return true
        }
        try walkRows(from: 0) { object, path in
            contents[path.section].rows.append(object.number)
            return true
        }
        return contents
    }

    func objects() throws -> [[RecordKey]] {
        try contents().map { section in section.rows.map { RecordKey(entity: 0, number: $0) } }
    }
}

func isEqual(_ left: [(name: String, rows: [UInt64])], _ right: [(name: String, rows: [UInt64])]) -> Bool {
    left.count == right.count && zip(left, right).allSatisfy { $0.name == $1.name && $0.rows == $1.rows }
}

/// What opening a cache gave.
struct TestOpened {
    let order: SectionedOrder
    let outcome: OrderOutcome
    let snapshot: Snapshot

    init(_ result: (opened: OpenedOrder, snapshot: Snapshot)) {
        (order, outcome, snapshot) = (result.opened.order, result.opened.outcome, result.snapshot)
    }
}

extension CacheEngine {
    func open(_ name: String, _ request: OrderRequest, needsExactChange: Bool = false) throws -> TestOpened {
        TestOpened(try open(CacheRequest(name: name, order: request, needsExactChange: needsExactChange)))
    }

    func rebuild(_ name: String, _ request: OrderRequest, _ reason: RebuildReason) throws -> TestOpened {
        TestOpened(try rebuild(CacheRequest(name: name, order: request), reason))
    }
}
