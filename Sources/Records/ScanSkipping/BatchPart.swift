internal import FetchIndexPlatform
internal import FetchIndexModels

/// What zones learn of a part of a batch: the bounds and the columns of its records.
struct BatchPart: Sendable {
    /// So many records, one after the other, are a part: a zone with only some of the records has few of the values.
    static let length = 1024
    /// Where a whole part has more texts, its zone will have too many.
    private static let mostTexts = length / 4 * 3

    private(set) var bounds: RecordBounds
    /// In the order of the entity's `columnSlots`.
    private(set) var columns: [TextColumnBuilder]

    /// Of some of a batch's records. O(records x slots).
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

/// Some records of a part, one after the other, by their places in it.
struct BatchRows {
    let part: BatchPart
    let places: Range<Int>
}
