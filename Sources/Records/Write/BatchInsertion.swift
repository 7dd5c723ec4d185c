internal import FetchIndexLMDB
internal import FetchIndexModels

/// The objects that a batch has inserted so far. Counters, zones and the log are updated for several objects at a time,
/// because updating them for each object would cost more than writing the object.
struct BatchInsertion {
    var keys: BatchKeys
    let entity: Int
    /// The numbers that the batch's records are to get, in ascending order; nil if they get the next ones.
    private let numbers: [UInt64]?
    /// The part of the batch from which records are being inserted; nil before the first record.
    private var part: (number: Int, part: BatchPart)?
    /// The number of the next object.
    private var next: UInt64
    /// The number of the first object that isn't yet in counters, zones and log.
    private var first: UInt64
    /// The indexes in the batch of the objects from `first` on; nil if they aren't successive. Without such objects, it
    /// has no meaning.
    private var rows: Range<Int>?
    private var hasNoted = false

    init(_ keys: BatchKeys, of entity: Int, as numbers: [UInt64]? = nil, in writer: StoreWriter) throws {
        (self.keys, self.entity, self.numbers) = (keys, entity, numbers)
        next = try writer.entityState(entity).nextObject
        first = next
    }

    /// Inserts a record, but doesn't write its unique key. Throws like `requireFree`.
    mutating func insert(_ row: Int, of batch: borrowing RecordBatch, in writer: StoreWriter) throws -> RecordKey {
        if let number = numbers?[row], number != next {
            try noteInserted(in: writer)
            try writer.skipNumbers(to: number, of: entity)
            (next, first) = (number, number)
        }
        if writer.hasLinks { try writer.checkLinks(of: entity, batch[row]) }
        let number = row / BatchPart.length
        if part?.number != number {
            try noteInserted(in: writer)
            part = (number, try batch.part(around: row, writer.model.entities[entity]))
        }
        let object = RecordKey(entity: entity, number: next)
        try writer.put(batch[row], ofNew: object)
        // Join records are inserted in batches only with the records of their turned links.
        if writer.hasSymmetricLinks, !writer.model.entities[entity].isJoin {
            try writer.noteSymmetricLinks(of: object, batch[row])
        }
        if next == first { rows = row..<row }
        rows = rows.flatMap { $0.upperBound == row ? $0.lowerBound..<row + 1 : nil }
        next += 1
        keys.note(object, insertedFor: row)
        // The first object is entered in counters, zones and log immediately. So the writer knows the least number that
        // this commit inserted, and doesn't log updates of objects with this or a greater number.
        if !hasNoted { try noteInserted(in: writer) }
        return object
    }

    /// Updates counters, zones and log if the given object isn't in them yet. Must be called before that object
    /// changes.
    mutating func noteInserted(through object: RecordKey, in writer: StoreWriter) throws {
        if object.number >= first { try noteInserted(in: writer) }
    }

    private mutating func noteInserted(in writer: StoreWriter) throws {
        guard next > first, let (number, part) = part else { return }
        let object = RecordKey(entity: entity, number: first)
        let start = number * BatchPart.length
        let places = rows.map { $0.lowerBound - start..<$0.upperBound - start }
        try writer.noteInsertedRecords(object, count: next - first, of: part, places: places)
        try writer.noteInserted(object, count: next - first)
        first = next
        hasNoted = true
    }

    /// Ends the batch: updates counters, zones and log, and writes the unique keys that `keys` has for inserted
    /// objects.
    mutating func end(in writer: StoreWriter) throws {
        try noteInserted(in: writer)
        try keys.write(in: writer)
    }

    /// Ends the batch after an error. Returns the error to throw: the given one, or the one with which ending the batch
    /// fails. If the given error ended the transaction, ending the batch fails with `badTransaction`, and the given
    /// error is returned.
    mutating func end(in writer: StoreWriter, after error: any Error) -> any Error {
        do { try end(in: writer) } catch let later {
            return later as? LMDBError == .badTransaction ? error : later
        }
        return error
    }
}
