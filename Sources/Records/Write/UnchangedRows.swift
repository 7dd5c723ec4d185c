internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels

/// Finds records of a batch that the store has already, byte for byte, if they are in the order of their objects. If a
/// catalogue is imported again, most of its rows are unchanged and in the order in which they were inserted. Each of
/// them then costs a step of a cursor and a comparison instead of a lookup of its unique key.
///
/// If a record isn't the expected one, its unique key leads to the object from which the walk continues. O(1) for each
/// expected record, O(log n) for each other one. The latter are few, because the walk ends after too many of them.
struct UnchangedRows {
    /// For each record, the number of the object that has the same bytes; nil if the walk didn't find one.
    private(set) var numbers: [UInt64?]
    private(set) var count = 0
    /// The number of unexpected records that the walk allows, and the number of expected records that allow one more.
    private static let (mostMissed, foundPerMissed) = (16, 8)

    init(
        _ batch: borrowing RecordBatch, _ entity: Int, _ constraint: UniqueConstraint, in writer: StoreWriter
    ) throws {
        numbers = Array(repeating: nil, count: batch.count)
        let description = writer.model.entities[entity]
        try writer.view.withCursor(on: writer.tables.records) { cursor in
            var isAtRecord = false
            var missed = 0
            for row in 0..<batch.count {
                var isEqual = isAtRecord && cursor.value.isEqual(to: batch[row])
                if !isEqual {
                    missed += 1
                    if missed > Self.mostMissed + count / Self.foundPerMissed { return }
                    guard let key = try StoreReader.uniqueKey(entity, description, constraint, batch[row]),
                        key.count <= Table.maximumKeyLength, let object = try writer.object(unique: key),
                        object.entity == entity, try cursor.seek(toKeyFrom: object.rawValue)
                    else { continue }
                    isAtRecord = true
                    isEqual = cursor.value.isEqual(to: batch[row])
                }
                let object = RecordKey(rawValue: cursor.integerKey)
                // If a record has a null in a unique attribute, it's a new object each time.
                if isEqual, object.entity == entity,
                    try constraint.isComplete(in: batch[row], of: description)
                {
                    numbers[row] = object.number
                    count += 1
                }
                isAtRecord = try cursor.seekToNext()
            }
        }
    }
}

extension UniqueConstraint {
    /// Whether a record has a value for each attribute of the constraint.
    fileprivate func isComplete(in record: RawSpan, of entity: borrowing Entity) throws -> Bool {
        let view = try RecordView(record, of: entity)
        for slot in slots where try view.range(of: slot) == nil { return false }
        return true
    }
}
