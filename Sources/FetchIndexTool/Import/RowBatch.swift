internal import Catalogues
internal import FetchIndex
internal import Records

/// Rows of a file that were read and converted, on their way to the store.
struct RowBatch {
    static let mostRows = 12_500
    private static let mostBytes = 16 << 20
    /// Bad rows that are listed.
    static let listedBadRows = 20

    var records = RecordBatch()
    /// The line of each record.
    private(set) var lines: [Int] = []
    /// Where rows have related objects: these, and the number of each row's object.
    private(set) var related: [[RelatedObject]] = []
    private(set) var numbers: [UInt64?] = []
    private(set) var badRowCount = 0
    private(set) var badRows: [BadInput] = []
    /// Bytes of the file that were read, and in all.
    var progress = (done: 0, total: 0)

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
        if let (number, objects) = try converter.append(row, to: &records) {
            numbers.append(number)
            related.append(objects)
        }
        lines.append(row.line)
        noteLength()
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
