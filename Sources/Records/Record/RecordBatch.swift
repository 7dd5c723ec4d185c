internal import FetchIndexPlatform
internal import FetchIndexLMDB
package import FetchIndexModels
internal import FetchIndexSorting

/// Finished records, one after another in memory, in the order in which they are to be written.
package struct RecordBatch {
    private(set) var bytes: [UInt8] = []
    private var ends: [Int] = []
    /// Records that are too large to be in memory twice, by their indexes. They have no bytes in `bytes`.
    private var files: [Int: TemporaryFile] = [:]
    private var fileByteCount = 0
    /// A record with large values of this length or more is in a temporary file.
    private static let leastFileLength = 16 << 20
    package private(set) var keys: UniqueKeys?
    /// The records' unique keys in the order of the records; see `listedKeys`.
    private var keyList: KeyBlock?
    private var parts: [BatchPart] = []
    /// For each record, the index of its kept slots in `keptSlots` plus 1; 0 if it has none. Empty if no record has
    /// kept slots.
    private var keptPlaces: [Int32] = []
    private var keptSlots: [KeptSlots] = []
    private var placeOfKept: [ObjectIdentifier: Int32] = [:]

    package init() {}

    /// Reserves memory for this many records and bytes. Growing to megabytes in steps would take new pages of memory at
    /// each step.
    package init(capacity: Int, byteCapacity: Int) {
        bytes.reserveCapacity(byteCapacity)
        ends.reserveCapacity(capacity)
    }

    package var count: Int { ends.count }
    package var byteCount: Int { bytes.count + fileByteCount }

    /// Appends the record that a builder has assembled. `kept` are the slots that the record leaves out. A record whose
    /// large values have 16 MiB or more is written to a temporary file, if there is room for it.
    package mutating func append(_ builder: inout RecordBuilder, keeping kept: KeptSlots? = nil) {
        if builder.largeByteCount >= Self.leastFileLength, let file = try? builder.finishInFile() {
            files[count] = file
            fileByteCount += file.length
        } else {
            builder.finish(into: &bytes)
        }
        builder.releaseLarge()
        noteAppended(kept)
    }

    package mutating func append(_ record: RawSpan, keeping kept: KeptSlots? = nil) {
        bytes.appendBytes(record)
        noteAppended(kept)
    }

    private mutating func noteAppended(_ kept: KeptSlots?) {
        if kept != nil || !keptPlaces.isEmpty { note(kept) }
        ends.append(bytes.count)
        if !parts.isEmpty { parts = [] }
    }

    private mutating func note(_ kept: KeptSlots?) {
        if keptPlaces.isEmpty { keptPlaces = Array(repeating: 0, count: ends.count) }
        guard let kept else { return keptPlaces.append(0) }
        if let last = keptPlaces.last, last > 0, keptSlots[Int(last) - 1] === kept { return keptPlaces.append(last) }
        if let known = placeOfKept[ObjectIdentifier(kept)] { return keptPlaces.append(known) }
        keptSlots.append(kept)
        placeOfKept[ObjectIdentifier(kept)] = Int32(keptSlots.count)
        keptPlaces.append(Int32(keptSlots.count))
    }

    /// Whether any record leaves out slots. A stored object keeps its values in these slots.
    package var hasKeptSlots: Bool { !keptPlaces.isEmpty }

    /// Whether any record lacks a required value, so that it can update an object but not insert one.
    package var hasIncomplete: Bool { keptSlots.contains { $0.requiredSlot != nil } }

    /// The slots that a record leaves out; nil if it leaves out none.
    package func keptSlots(at index: Int) -> KeptSlots? {
        guard !keptPlaces.isEmpty, keptPlaces[index] > 0 else { return nil }
        return keptSlots[Int(keptPlaces[index]) - 1]
    }

    package subscript(index: Int) -> RawSpan {
        @_lifetime(borrow self)
        borrowing get {
            if !files.isEmpty, let file = files[index] { return _overrideLifetime(file.bytes, borrowing: self) }
            return bytes.span.bytes.extracting((index == 0 ? 0 : ends[index - 1])..<ends[index])
        }
    }

    package borrowing func copy(at index: Int) -> [UInt8] { [UInt8](copying: self[index]) }

    /// Makes and sorts the unique keys of the records on the calling thread, so that the writer's thread needn't. Must
    /// be called after the last record.
    package mutating func sortKeys(_ number: Int, _ entity: Entity, _ constraint: UniqueConstraint) throws {
        keys = try UniqueKeys(of: self, number, entity, constraint) { _ in true }
    }

    /// The unique keys in the order of the records; empty for a record that has none, because a value is null, and cut
    /// off after one byte more than LMDB's maximum length. If `listKeys` hasn't made the list, it's made by each call.
    func listedKeys(_ number: Int, _ entity: Entity, _ constraint: UniqueConstraint) throws -> KeyBlock {
        if let keyList, keyList.count == count { return keyList }
        var list = KeyBlock()
        var key: [UInt8] = []
        for index in 0..<count {
            let hasKey = try StoreReader.makeUniqueKey(number, entity, constraint, self[index], in: &key)
            list.append(key.span.bytes.extracting(first: hasKey ? min(key.count, Table.maximumKeyLength + 1) : 0))
        }
        return list
    }

    /// Lists the unique keys on the calling thread, so that the writer's thread needn't. Must be called after the last
    /// record.
    package mutating func listKeys(_ number: Int, _ entity: Entity, _ constraint: UniqueConstraint) throws {
        keyList = try listedKeys(number, entity, constraint)
    }

    /// The part of the batch that contains the record at `index`. If `describeParts` hasn't computed it, it's computed
    /// by each call.
    borrowing func part(around index: Int, _ entity: Entity) throws -> BatchPart {
        let number = index / BatchPart.length
        if number < parts.count { return parts[number] }
        let start = number * BatchPart.length
        return try BatchPart(of: self, start..<min(count, start + BatchPart.length), entity)
    }

    /// Computes the bounds and columns of the batch's parts on the calling thread, so that the writer's thread needn't.
    /// Must be called after the last record.
    package mutating func describeParts(_ entity: Entity) throws {
        var made: [BatchPart] = []
        for start in stride(from: 0, to: count, by: BatchPart.length) { made.append(try part(around: start, entity)) }
        parts = made
    }

    /// Unique keys of a batch's records, in ascending order.
    package struct UniqueKeys {
        let constraint: UniqueConstraint
        /// The indexes of records whose keys exceed LMDB's maximum length.
        private(set) var tooLong: [Int] = []
        /// The keys, each followed by the index of its record.
        private let sorter = KeySorter(memoryBudget: .max, folder: nil)
        private static let indexLength = 4

        init(
            of batch: borrowing RecordBatch, _ number: Int, _ entity: Entity, _ constraint: UniqueConstraint,
            where isIncluded: (Int) -> Bool
        ) throws {
            self.constraint = constraint
            var key: [UInt8] = []
            for index in 0..<batch.count where isIncluded(index) {
                guard try StoreReader.makeUniqueKey(number, entity, constraint, batch[index], in: &key) else {
                    continue
                }
                if key.count > Table.maximumKeyLength {
                    tooLong.append(index)
                } else {
                    key.appendBigEndian(UInt32(index))
                    try sorter.append(key)
                }
            }
            try sorter.sort()
        }

        func forEach(_ body: (_ key: RawSpan, _ index: Int) throws -> Void) throws {
            try sorter.forEachSorted { keyAndIndex in
                let end = keyAndIndex.byteCount - Self.indexLength
                let index = keyAndIndex.unsafeLoadUnaligned(fromByteOffset: end, as: UInt32.self)
                try body(keyAndIndex.extracting(first: end), Int(UInt32(bigEndian: index)))
            }
        }
    }
}
