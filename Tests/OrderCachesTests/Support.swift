import FetchIndexModels
import FetchIndexRecords
import FetchIndexTestSupport
import FetchIndexValues
import Testing

@testable import FetchIndexOrderCaches

/// A row of the tests: its group, which is its section value (nil for null), a rank to sort by, and whether it's a
/// member.
struct TestRow: Hashable {
    var group: String?
    var rank: Int64
    var isMember = true
    /// A value that isn't used for sorting or grouping.
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

    static func type(of slot: Int) -> ValueType { model.entities[0].type(at: slot) }

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
    let columns: AggregateColumns

    init(hasSections: Bool, isDescending: Bool = false, columns: AggregateColumns = .none) {
        self.hasSections = hasSections
        self.isDescending = isDescending
        self.columns = columns
    }

    func copy() -> any RowPlacer { self }
    func keepRecords(of block: inout RecordBlock, within bound: [UInt8]) {}

    private func isMember(_ record: RecordView) throws -> Bool {
        guard let member = try record.range(of: 2) else { return false }
        return try record.boolean(member)
    }

    func place(
        _ object: RecordKey, _ bytes: RawSpan, in state: (any RecordState)?, _ placement: inout RowPlacement
    ) throws -> Bool {
        guard try isMember(RecordView(bytes)) else { return false }
        try placeMember(bytes, &placement)
        return true
    }

    func keepMembers(of block: inout RecordBlock) throws {
        try block.keep { _, bytes in try isMember(RecordView(bytes)) }
    }

    func placeMember(_ bytes: RawSpan, _ placement: inout RowPlacement) throws {
        let record = try RecordView(bytes)
        if hasSections { try record.appendOrderKey(of: 0, as: .string, to: &placement.key) }
        placement.sectionLength = placement.key.count
        try record.appendOrderKey(of: 1, as: .integer, to: &placement.key)
        if isDescending { OrderKey.reverse(&placement.key, from: placement.sectionLength) }
        if columns.hasFingerprint {
            try placement.appendFingerprint { texts in
                for slot in 0..<4 { try record.appendFingerprinted(slot, as: TestRow.type(of: slot), to: &texts) }
            }
        }
        for column in columns.columns {
            let slot = ["group", "rank", "member", "note"].firstIndex(of: column.names[0])!
            try placement.appendAggregated(column.form) {
                try record.appendOrderKey(of: slot, as: column.form.type, to: &$0)
            }
        }
    }
}

/// An order of test rows, and its oracle, which sorts and groups all rows again.
struct TestOrder: CustomStringConvertible {
    var hasSections: Bool
    var isDescending = false
    var sectionOrder = SectionOrder.byFirstRow

    /// The aggregates. Only descending orders have any.
    var columns: AggregateColumns {
        if !isDescending { return .none }
        return AggregateColumns([
            .init(["group"], SummaryForm(.string, keepsSum: false, keepsExtremes: false)),
            .init(["note"], SummaryForm(.integer, keepsSum: true, keepsExtremes: false)),
            .init(["rank"], SummaryForm(.integer, keepsSum: true, keepsExtremes: true)),
        ])
    }

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

    var placer: TestPlacer { TestPlacer(hasSections: hasSections, isDescending: isDescending, columns: columns) }

    func shape() throws -> OrderShape {
        try OrderShape(hasSections: hasSections, sectionOrder: sectionOrder, aggregates: columns)
    }

    func request() throws -> OrderRequest {
        let builder = try OrderBuilder(entity: 0, shape: shape(), dependencies: [0]) { _ in placer }
        return OrderRequest(
            builder: builder,
            identity: CacheIdentity(
                entity: "Row", reads: "0:6,1:2,2:1", predicate: "member == TRUE",
                sort: isDescending ? "rank:desc" : "rank",
                section: hasSections ? "\(sectionOrder)" : "",
                aggregates: columns.isEmpty ? "" : columns.layout + " of the test", collation: ""))
    }

    /// The sections with their names, object numbers and sums, computed from all rows.
    func sections(of rows: [UInt64: TestRow]) -> [SectionContents] {
        plainSections(of: rows).map { section in
            SectionContents(
                name: section.name, rows: section.rows, sums: sums(of: section.rows.compactMap { rows[$0] }))
        }
    }

    /// The aggregates of some rows.
    func sums(of rows: [TestRow]) -> [Value] {
        if columns.isEmpty { return [] }
        let ranks = rows.map(\.rank)
        return [
            .integer(Int64(rows.count { $0.group != nil })), .integer(rows.reduce(0) { $0 + $1.note }),
            .integer(ranks.reduce(0, +)), ranks.min().map { .integer($0) } ?? .null,
            ranks.max().map { .integer($0) } ?? .null,
        ]
    }

    private func plainSections(of rows: [UInt64: TestRow]) -> [(name: String, rows: [UInt64])] {
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
        return FetchIndexTestSupport.plainSections(of: members, by: isBefore, in: hasSections ? value : nil, order)
    }
}

struct SectionContents: Equatable {
    let name: String
    var rows: [UInt64] = []
    /// The aggregates; empty if the order has none.
    var sums: [Value] = []
}

extension SectionedOrder {
    /// The name, the object numbers and the aggregates of each section, as `walkSections` and `walkRows` read them.
    func contents() throws -> [SectionContents] {
        var contents: [SectionContents] = []
        try walkSections { section in
            contents.append(SectionContents(name: section.name, sums: try sums(section.summary)))
            return true
        }
        try walkRows(from: 0) { object, path in
            contents[path.section].rows.append(object.number)
            return true
        }
        return contents
    }

    /// The aggregates in the order of `TestOrder.sums`.
    func sums(_ summary: [UInt8]) throws -> [Value] {
        if shape.aggregates.isEmpty { return [] }
        let wanted: [(AggregateColumns.Result, Int)] = [
            (.count, 0), (.total, 1), (.total, 2), (.minimum, 2), (.maximum, 2),
        ]
        return try wanted.map { try shape.aggregates.value($0, at: $1, of: summary) }
    }

    func objects() throws -> [[RecordKey]] {
        try contents().map { section in section.rows.map { RecordKey(entity: 0, number: $0) } }
    }
}

func isEqual(_ left: [SectionContents], _ right: [SectionContents]) -> Bool { left == right }

/// The result of opening a cache.
struct TestOpened {
    let order: SectionedOrder
    let outcome: OrderOutcome<RecordKey>
    let snapshot: Snapshot

    init(_ reading: CacheReading) {
        (order, outcome, snapshot) = (reading.opened.order, reading.opened.outcome, reading.snapshot)
    }
}

extension CacheEngine {
    func open(_ name: String, _ request: OrderRequest, needsExactChange: Bool = false) throws -> TestOpened {
        TestOpened(try open(CacheRequest(name: name, order: request, needsExactChange: needsExactChange)))
    }

    func rebuild(_ name: String, _ request: OrderRequest, _ reason: RebuildReason) throws -> TestOpened {
        TestOpened(try rebuild(CacheRequest(name: name, order: request), reason))
    }

    /// The defects of a cache in the newest state.
    func verify(_ name: String, _ request: OrderRequest) throws -> [String] {
        let snapshot = try store.snapshot()
        do {
            return try verify(CacheDirectory.existingHeader(name, in: snapshot), request, in: snapshot)
        } catch let error as UnusableHeader {
            return error.defects
        }
    }
}
