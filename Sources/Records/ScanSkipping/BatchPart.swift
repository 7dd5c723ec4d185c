internal import FetchIndexModels

/// The bounds and columns of a part of a batch. Zones include them when the part's records are inserted.
struct BatchPart: Sendable {
    /// The maximum number of successive records in a part. It's small, because a zone that gets only some records of a
    /// part includes the bounds of the whole part, which may be wider than necessary.
    static let length = 1024
    /// The maximum number of different texts in a part of full length. If a part had more, its zone would probably have
    /// too many for a column.
    private static let mostTexts = length / 4 * 3

    private(set) var bounds: RecordBounds
    /// The columns of the part, in the order of the entity's `columnSlots`.
    private(set) var columns: [TextColumnBuilder]

    /// Computes the bounds and columns of these records of a batch. O(records x slots).
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

/// Successive records of a part, given by their indexes in the part.
struct BatchRows {
    let part: BatchPart
    let places: Range<Int>
}
