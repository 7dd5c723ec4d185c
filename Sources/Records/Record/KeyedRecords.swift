internal import FetchIndexLMDB
internal import FetchIndexPlatform
package import FetchIndexModels
internal import FetchIndexSorting

/// Records of an entity in a temporary file, in the order in which their unique keys first came. Of several records with
/// one key, the last one counts. Takes some 30 bytes of memory for each record, of which there may be 4 billion.
///
///     append -> index -> record, place
package final class KeyedRecords {
    private static let pieceLength = 1 << 20

    private let number: Int
    private let entity: Entity
    private let constraint: UniqueConstraint
    private let file: TemporaryFile
    /// The records that aren't in the file yet.
    private var piece: [UInt8] = []
    /// The end of each record in the file.
    private var ends: [Int] = []
    /// The hash of each record's key.
    private var hashes: [UInt64] = []
    /// For each place, the index of the record that counts.
    private var records: [UInt32] = []
    /// An open-addressing table of places plus 1, by the hashes of their keys; 0 is an empty slot.
    private var slots: [UInt32] = []

    /// Throws `SystemError` if the file can't be made.
    package init(of number: Int, _ entity: Entity, by constraint: UniqueConstraint) throws {
        (self.number, self.entity, self.constraint) = (number, entity, constraint)
        file = try TemporaryFile(inFolder: TemporaryFile.folder, prefix: "fetchindex-rows")
    }

    /// The number of different keys, after `index`.
    package var count: Int { records.count }
    /// The number of records whose key a later record has, after `index`.
    package var repeatedCount: Int { ends.count - records.count }

    // MARK: Append

    /// Appends the records of a batch, each of which must have a key. `refused` gets the error of a record whose key is
    /// too long; the record is then left out, unless the closure throws.
    package func append(_ batch: borrowing RecordBatch, refused: (_ index: Int, StoreError) throws -> Void) throws {
        let keys = try batch.listedKeys(number, entity, constraint)
        for index in 0..<batch.count {
            let key = keys[index]
            if key.byteCount > Table.maximumKeyLength {
                try refused(index, .uniqueValueTooLong(entity: entity.name, attribute: entity.name(of: constraint)))
                continue
            }
            piece.appendBytes(batch[index])
            ends.append(file.length + piece.count)
            hashes.append(key.hash)
            if piece.count >= Self.pieceLength { try writePiece() }
        }
    }

    private func writePiece() throws {
        try piece.withUnsafeBytes { try file.append($0) }
        piece.removeAll(keepingCapacity: true)
    }

    /// Finds the places of all keys. Must be called once, after the last record.
    package func index() throws {
        try writePiece()
        piece = []
        if file.length > 0 { try file.mapIntoMemory() }
        slots = [UInt32](repeating: 0, count: 1 << (Int.bitWidth - (ends.count * 3 / 2 | 15).leadingZeroBitCount))
        records.reserveCapacity(ends.count)
        for (index, hash) in hashes.enumerated() {
            let slot = try slot(of: hash, bytes(of: index))
            if slots[slot] > 0 {
                records[Int(slots[slot]) - 1] = UInt32(index)
            } else {
                records.append(UInt32(index))
                slots[slot] = UInt32(records.count)
            }
        }
    }

    // MARK: Find

    /// The slot with the place of a record's key, or the empty slot for it.
    private func slot(of hash: UInt64, _ record: RawSpan) throws -> Int {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] > 0 {
            let other = Int(records[Int(slots[slot]) - 1])
            if hashes[other] == hash, try hasSameKey(record, bytes(of: other)) { break }
            slot = (slot + 1) & mask
        }
        return slot
    }

    private func hasSameKey(_ record: RawSpan, _ other: RawSpan) throws -> Bool {
        let missing = entity.missingValues
        let view = try RecordView(record, missing: missing.span.bytes)
        let otherView = try RecordView(other, missing: missing.span.bytes)
        for slot in constraint.slots where try !view.isEqual(to: otherView, at: slot) {
            // Other bytes may be the same value.
            var (key, otherKey): ([UInt8], [UInt8]) = ([], [])
            try view.appendOrderKey(of: slot, as: entity.type(at: slot), to: &key)
            try otherView.appendOrderKey(of: slot, as: entity.type(at: slot), to: &otherKey)
            if key != otherKey { return false }
        }
        return true
    }

    @_lifetime(borrow self)
    private func bytes(of index: Int) -> RawSpan {
        let file = file
        let range = (index == 0 ? 0 : ends[index - 1])..<ends[index]
        return _overrideLifetime(file.bytes.extracting(range), borrowing: self)
    }

    /// The index of the record that counts of those with the key of a place, among all that were appended.
    package func index(at place: Int) -> Int { Int(records[place]) }

    /// The record that counts of those with the key of a place.
    @_lifetime(borrow self)
    package func record(at place: Int) -> RawSpan { bytes(of: index(at: place)) }

    /// The place of the key that a record of another list of the same entity has there; nil if this list lacks it.
    package func place(of other: KeyedRecords, _ otherPlace: Int) throws -> Int? {
        let found = slots[try slot(of: other.hashes[Int(other.records[otherPlace])], other.record(at: otherPlace))]
        return found == 0 ? nil : Int(found) - 1
    }

    /// Whether the records at two places of lists of the same entity have the same values.
    package func hasSameValues(_ place: Int, as other: KeyedRecords, _ otherPlace: Int) throws -> Bool {
        let missing = entity.missingValues
        let view = try RecordView(record(at: place), missing: missing.span.bytes)
        return try view.hasSameValues(
            as: RecordView(other.record(at: otherPlace), missing: missing.span.bytes), of: entity)
    }
}
