internal import FetchIndexModels

/// The bounds and columns of a part of a batch, which zones include.
struct BatchPart: Sendable {
    /// The number of successive records in a part. It is small, because a zone with only some of a part's records
    /// includes the bounds of all.
    static let length = 1024
    /// The maximum number of different texts in a whole part. With more, its zone would probably have too many.
    private static let mostTexts = length / 4 * 3

    private(set) var bounds: RecordBounds
    /// The columns, in the order of the entity's `columnSlots`.
    private(set) var columns: [TextColumnBuilder]

    /// Computes the bounds and columns of some of a batch's records. O(records x slots).
    init(of batch: borrowing RecordBatch, _ indices: Range<Int>, _ entity: Entity) throws {
        bounds = RecordBounds(of: entity)
        let mostTexts = indices.count == Self.length ? Self.mostTexts : TextColumn.mostTexts
        columns = entity.columnSlots.map {
            TextColumnBuilder(slot: $0, places: indices.count, mostTexts: mostTexts)
        }
        let missing = entity.missingValues
        for index in indices {
            let record = try RecordView(batch[index], missing: missing.span.bytes)
            try bounds.include(record)
            for column in columns.indices { try columns[column].set(record, at: index - indices.lowerBound) }
        }
        for column in columns.indices { columns[column].finish() }
    }
}

/// Successive records of a part, by their places in it.
struct BatchRows {
    let part: BatchPart
    let places: Range<Int>
}
