internal import FetchIndexPlatform
internal import FetchIndexLMDB
package import FetchIndexModels
internal import FetchIndexSorting

/// Finished records one after the other in memory, in the order in which they are written.
package struct RecordBatch {
    private(set) var bytes: [UInt8] = []
    private var ends: [Int] = []
    package private(set) var keys: UniqueKeys?
    private var hashes: [KeyHash]?
    private var parts: [BatchPart] = []
    /// What records do not say, by their places in `keptSlots`, from 1 on; 0: nothing. Empty while all records say everything.
    private var keptPlaces: [Int32] = []
    private var keptSlots: [KeptSlots] = []
    private var placeOfKept: [ObjectIdentifier: Int32] = [:]

    package init() {}

    /// With room for so many records and bytes, because growing to megabytes step by step takes new pages each time.
    package init(capacity: Int, byteCapacity: Int) {
        bytes.reserveCapacity(byteCapacity)
        ends.reserveCapacity(capacity)
    }

    package var count: Int { ends.count }
    package var byteCount: Int { bytes.count }

    /// Adds what a builder has put together. A stored object keeps some slots' values.
    package mutating func append(_ builder: inout RecordBuilder, keeping kept: KeptSlots? = nil) {
        builder.finish(into: &bytes)
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

    /// Whether a record leaves something to the stored object.
    package var hasKeptSlots: Bool { !keptPlaces.isEmpty }

    /// Whether a record can update an object, but lacks what a new one needs.
    package var hasIncomplete: Bool { keptSlots.contains { $0.requiredSlot != nil } }

    /// What a record leaves to the stored object; nil: nothing.
    package func keptSlots(at index: Int) -> KeptSlots? {
        guard !keptPlaces.isEmpty, keptPlaces[index] > 0 else { return nil }
        return keptSlots[Int(keptPlaces[index]) - 1]
    }

    package subscript(index: Int) -> RawSpan {
        @_lifetime(borrow self)
        borrowing get { bytes.span.bytes.extracting((index == 0 ? 0 : ends[index - 1])..<ends[index]) }
    }

    package borrowing func copy(at index: Int) -> [UInt8] { [UInt8](copying: self[index]) }

    /// Makes and sorts the unique keys of the records, which a writer would do otherwise: on any thread, after the last record.
    package mutating func sortKeys(_ number: Int, _ entity: Entity, _ constraint: UniqueConstraint) throws {
        keys = try UniqueKeys(of: self, number, entity, constraint) { _ in true }
    }

    /// What an import that leaves out unique keys knows of them.
    package enum KeyHash: Sendable {
        /// A value is null.
        case noKey
        /// The key is longer than LMDB's may be.
        case tooLong
        case hash(UInt64)
    }

    /// The hashes of the records' unique keys, as `hashKeys` has made them or made now.
    package func keyHashes(
        _ number: Int, _ entity: Entity, _ constraint: UniqueConstraint
    ) throws -> [KeyHash] {
        if let hashes, hashes.count == count { return hashes }
        var made: [KeyHash] = []
        made.reserveCapacity(count)
        var key: [UInt8] = []
        for index in 0..<count {
            guard try StoreReader.makeUniqueKey(number, entity, constraint, self[index], in: &key) else {
                made.append(.noKey)
                continue
            }
            made.append(key.count > Table.maximumKeyLength ? .tooLong : .hash(key.span.bytes.hash))
        }
        return made
    }

    /// The part that has a record, as `describeParts` has made it or made now.
    borrowing func part(around index: Int, _ entity: Entity) throws -> BatchPart {
        let number = index / BatchPart.length
        if number < parts.count { return parts[number] }
        let start = number * BatchPart.length
        return try BatchPart(of: self, start..<min(count, start + BatchPart.length), entity)
    }

    /// Finds the bounds and columns of the records, which a writer would do otherwise: on any thread, after the last record.
    package mutating func describeParts(_ entity: Entity) throws {
        var made: [BatchPart] = []
        for start in stride(from: 0, to: count, by: BatchPart.length) { made.append(try part(around: start, entity)) }
        parts = made
    }

    /// Makes the hashes of the unique keys, which a writer would do otherwise: on any thread, after the last record.
    package mutating func hashKeys(_ number: Int, _ entity: Entity, _ constraint: UniqueConstraint) throws {
        hashes = try keyHashes(number, entity, constraint)
    }

    /// The unique keys of records of the batch in order.
    package struct UniqueKeys {
        let constraint: UniqueConstraint
        /// The records with keys that are longer than LMDB's may be.
        private(set) var tooLong: [Int] = []
        /// The keys, each followed by its record's index.
        private let sorter = KeySorter(memoryBudget: .max, folder: nil)
        private static let indexLength = 4
        /// Whether nearly all records are in the order of their keys.
        package private(set) var areInOrder = true

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
            var (last, steps) = (-1, 0)
            try forEach { _, index in
                if index > last { steps += 1 }
                last = index
            }
            areInOrder = steps * 10 >= sorter.count * 9
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
