internal import FetchIndexPlatform
package import FetchIndexModels

/// Events of rows by kind, each kind in the order in which its events were added.
package struct PackedRowEvents: Sendable {
    /// The entities of the events' rows.
    private(set) var entities: Set<Int> = []
    private var deletes = PackedRows(pathsPerRow: 1)
    private var inserts = PackedRows(pathsPerRow: 1)
    private var moves = PackedRows(pathsPerRow: 2)
    private var updates = PackedRows(pathsPerRow: 2)

    package init() {}

    package var count: Int { deletes.count + inserts.count + moves.count + updates.count }

    mutating func delete(_ row: RecordKey, from: RowPath) {
        note(row)
        deletes.append(row, from)
    }

    mutating func insert(_ row: RecordKey, to: RowPath) {
        note(row)
        inserts.append(row, to)
    }

    mutating func move(_ row: RecordKey, from: RowPath, to: RowPath) {
        note(row)
        moves.append(row, from, to)
    }

    mutating func update(_ row: RecordKey, from: RowPath, to: RowPath) {
        note(row)
        updates.append(row, from, to)
    }

    private mutating func note(_ row: RecordKey) { if !entities.contains(row.entity) { entities.insert(row.entity) } }

    package subscript(index: Int) -> OrderChange<RecordKey>.RowEvent {
        var index = index
        if index < deletes.count { return .delete(deletes.row(index), from: deletes.path(index)) }
        index -= deletes.count
        if index < inserts.count { return .insert(inserts.row(index), to: inserts.path(index)) }
        index -= inserts.count
        if index < moves.count {
            return .move(moves.row(index), from: moves.path(index), to: moves.path(index, second: true))
        }
        index -= moves.count
        return .update(updates.row(index), from: updates.path(index), to: updates.path(index, second: true))
    }
}

/// A list of rows, each with one or two paths, as columns of numbers in blocks. In a block, a column has its least
/// number, and for each row the difference from it, in as few bytes as the greatest difference needs (a frame of
/// reference: Goldstein, Ramakrishnan and Shaft, "Compressing relations and indexes", 1998). Rows in display order take
/// 2 bytes for their places instead of 8.
private struct PackedRows: Sendable {
    private static let rowsOfBlock = 512

    /// The row's key, and the section and the row of each path.
    private let columnCount: Int
    private var blocks: [[UInt8]] = []
    /// The numbers of the rows that don't fill a block yet, row by row.
    private var open: [UInt64] = []
    private(set) var count = 0

    init(pathsPerRow: Int) { columnCount = 1 + 2 * pathsPerRow }

    mutating func append(_ row: RecordKey, _ path: RowPath, _ second: RowPath? = nil) {
        open.append(row.rawValue)
        append(path)
        if let second { append(second) }
        count += 1
        if open.count == Self.rowsOfBlock * columnCount { close() }
    }

    private mutating func append(_ path: RowPath) {
        open.append(UInt64(UInt32(truncatingIfNeeded: path.section)))
        open.append(UInt64(UInt32(truncatingIfNeeded: path.row)))
    }

    /// Packs the open rows: for each column 9 bytes (its least number, and the number of bytes of a difference), then the
    /// columns, and 8 bytes more, so that 8 bytes can be read at each difference.
    private mutating func close() {
        var (frames, columns): ([UInt8], [UInt8]) = ([], [])
        for column in 0..<columnCount {
            let places = stride(from: column, to: open.count, by: columnCount)
            var (least, greatest) = (UInt64.max, UInt64.min)
            for place in places { (least, greatest) = (min(least, open[place]), max(greatest, open[place])) }
            let length = 8 - (greatest - least).leadingZeroBitCount / 8
            Self.append(least, 8, to: &frames)
            frames.append(UInt8(length))
            for place in places { Self.append(open[place] - least, length, to: &columns) }
        }
        blocks.append(frames + columns + [UInt8](repeating: 0, count: 8))
        open.removeAll(keepingCapacity: true)
    }

    /// Appends the low bytes of a number, the lowest first.
    private static func append(_ number: UInt64, _ length: Int, to bytes: inout [UInt8]) {
        for shift in 0..<length { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * shift))) }
    }

    private static func number(in block: [UInt8], at offset: Int, _ length: Int) -> UInt64 {
        let bytes = block.span.bytes
        precondition(offset + 8 <= bytes.byteCount, "A number must be in its block.")
        let number = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
        return length == 8 ? number : number & (1 << UInt64(8 * length) - 1)
    }

    private func number(_ row: Int, column: Int) -> UInt64 {
        let (block, index) = row.quotientAndRemainder(dividingBy: Self.rowsOfBlock)
        if block == blocks.count { return open[index * columnCount + column] }
        let bytes = blocks[block]
        var start = 9 * columnCount
        for earlier in 0..<column { start += Self.rowsOfBlock * Int(bytes[9 * earlier + 8]) }
        let length = Int(bytes[9 * column + 8])
        return Self.number(in: bytes, at: 9 * column, 8) + Self.number(in: bytes, at: start + index * length, length)
    }

    func row(_ row: Int) -> RecordKey { RecordKey(rawValue: number(row, column: 0)) }

    func path(_ row: Int, second: Bool = false) -> RowPath {
        let column = second ? 3 : 1
        return RowPath(section: Int(number(row, column: column)), row: Int(number(row, column: column + 1)))
    }
}
