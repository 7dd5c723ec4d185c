internal import FetchIndexCatalogues
internal import FetchIndex
internal import FetchIndexRecords
internal import FetchIndexPlatform

/// Rows of a file that were read and converted, on their way to the store.
struct RowBatch {
    static let mostRows = 12_500
    private static let mostBytes = 16 << 20
    /// Bad rows that are listed.
    static let listedBadRows = 20

    var records = RecordBatch()
    /// The line of each record.
    private(set) var lines: [Int] = []
    /// Where a row has related objects or a number: those of each row. Otherwise empty.
    private(set) var links: [RowLinks] = []
    /// The store whose numbers the rows have; nil: this one.
    private(set) var source: UUID?
    private(set) var badRowCount = 0
    private(set) var badRows: [BadInput] = []
    /// Bytes of the file that were read, and in all.
    var progress = (done: 0, total: 0)

    /// Whether rows have related objects or numbers.
    var hasLinks: Bool { !links.isEmpty }

    /// The columns of related objects that a row has.
    var usedColumns: [Int] {
        guard let first = links.first else { return [] }
        return first.related.indices.filter { column in
            links.contains { if case .absent = $0.related[column] { false } else { true } }
        }
    }

    var hasNumbers: Bool { links.contains { $0.fileNumber != nil } }

    var rowCount: Int { records.count + badRowCount }
    /// Kept, because asking the records would copy the batch for each row.
    private(set) var isFull = false

    init() {}

    /// With room for as many rows and bytes as the batch before had.
    init(afterOneOf count: Int, byteCount: Int) {
        records = RecordBatch(capacity: count, byteCapacity: byteCount + byteCount / 8)
        lines.reserveCapacity(count)
    }

    mutating func append(_ row: FieldRow, _ converter: inout RowConverter) throws {
        if let own = try converter.append(row, to: &records) {
            let none = RowLinks(related: converter.related.absent)
            links += Array(repeating: none, count: records.count - 1 - links.count)
            links.append(own)
            source = converter.related.source
        } else if hasLinks {
            links.append(RowLinks(related: converter.related.absent))
        }
        lines.append(row.line)
        noteLength()
    }

    /// Adds a row of another batch of the same file.
    mutating func append(_ index: Int, of other: RowBatch) {
        records.append(other.records[index], keeping: other.records.keptSlots(at: index))
        lines.append(other.lines[index])
        if other.hasLinks {
            let none = RowLinks(related: other.links[index].related.map { _ in .absent })
            links += Array(repeating: none, count: max(0, records.count - 1 - links.count))
            links.append(other.links[index])
            source = other.source ?? source
        } else if hasLinks {
            links.append(RowLinks(related: links[0].related.map { _ in .absent }))
        }
    }

    mutating func note(_ bad: BadInput) {
        badRowCount += 1
        if badRows.count < Self.listedBadRows { badRows.append(bad) }
        noteLength()
    }

    private mutating func noteLength() {
        isFull = rowCount >= Self.mostRows || records.byteCount >= Self.mostBytes
    }
}
