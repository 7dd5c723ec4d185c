package import FetchIndexEssentials
internal import FetchIndexRecords

/// Rows of a file or of a source, as records that aren't written yet.
package struct RowBatch {
    package static let mostRows = 12_500
    private static let mostBytes = 16 << 20

    var records = RecordBatch()
    /// The line of the file from which each record was read.
    private(set) var lines: [Int] = []
    /// The links of each row; empty if no row has related objects or a number.
    private(set) var links: [RowLinks] = []
    /// The store that gave the object numbers in the rows; nil for this store.
    private(set) var source: UUID?
    /// Whether the batch has its maximum number of rows or bytes. It's a stored property, because computing it from
    /// `records` would copy the batch for each row.
    package private(set) var isFull = false

    package init() {}

    /// Makes an empty batch with memory for as many rows and bytes as another batch has.
    package init(likeOneOf count: Int, byteCount: Int) {
        records = RecordBatch(capacity: count, byteCapacity: byteCount + byteCount / 8)
        lines.reserveCapacity(count)
    }

    package var count: Int { records.count }
    package var byteCount: Int { records.byteCount }
    /// Whether rows have related objects or numbers.
    package var hasLinks: Bool { !links.isEmpty }

    /// The indices of the columns of related objects that at least one row has.
    var usedColumns: [Int] {
        guard let first = links.first else { return [] }
        return first.related.indices.filter { column in links.contains { !$0.related[column].isAbsent } }
    }

    var hasNumbers: Bool { links.contains { $0.fileNumber != nil } }

    /// Adds the row that a builder has assembled. `source` is the store that gave the object numbers in the row; nil
    /// for this store. Returns whether the batch is full, because a caller that asked the batch would copy it for each
    /// row.
    @discardableResult
    package mutating func append(
        _ builder: inout RowBuilder, line: Int = 0, links own: RowLinks? = nil, from source: UUID? = nil
    ) -> Bool {
        records.append(&builder.record, keeping: builder.kept)
        note(own, from: source, line: line)
        return isFull
    }

    /// Adds a row of another batch of the same file.
    mutating func append(_ index: Int, of other: RowBatch) {
        records.append(other.records[index], keeping: other.records.keptSlots(at: index))
        note(other.hasLinks ? other.links[index] : nil, from: other.source ?? source, line: other.lines[index])
    }

    private mutating func note(_ own: RowLinks?, from source: UUID?, line: Int) {
        if let own {
            // Rows before the first row with links have none.
            let none = RowLinks(related: own.related.map { _ in .absent })
            links += Array(repeating: none, count: records.count - 1 - links.count)
            links.append(own)
            self.source = source
        } else if let first = links.first {
            links.append(RowLinks(related: first.related.map { _ in .absent }))
        }
        lines.append(line)
        isFull = records.count >= Self.mostRows || records.byteCount >= Self.mostBytes
    }
}

extension BatchWriter {
    /// Prepares rows for writing. May be called on any thread, while the writer writes on another one. Does nothing for
    /// rows with links, whose records still change when they are linked.
    package func prepare(_ rows: inout RowBatch, as preparation: Preparation) throws {
        if !rows.hasLinks { try withPublicErrors { try prepare(&rows.records, as: preparation) } }
    }
}
