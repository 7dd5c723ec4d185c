internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels

/// Finds records of a batch that the store has already, byte for byte, if they are in the order of their object
/// numbers. If a catalogue is imported again, most of its rows are often unchanged and in the order in which they were
/// inserted. Each of these rows then costs a step of a cursor and a comparison instead of a lookup of its unique key.
///
/// If a record isn't the one at the cursor, its unique key is looked up, and the cursor continues after the object
/// found. O(1) for each record at the cursor, O(log n) for each other record. The search ends after too many other
/// records.
struct UnchangedRows {
    /// For each record, the number of the object that has the same bytes; nil if the search didn't find one.
    private(set) var numbers: [UInt64?]
    private(set) var count = 0
    /// The number of records that may differ from the record at the cursor, and the number of equal records that allow
    /// one more.
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
                // A record with a null in a unique attribute is a new object each time, so it's never unchanged.
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
