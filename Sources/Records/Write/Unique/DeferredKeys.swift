internal import FetchIndexPlatform
internal import FetchIndexLMDB
package import FetchIndexModels
internal import FetchIndexSorting

//     beginDeferral     the state names the entity: its next objects lack their unique keys
//     insert            inserts records without their keys, in any number of transactions; gathers the keys in a sorter
//     write             appends the sorted keys; the state no longer names the entity

/// Unique keys that a first import leaves out while it writes records: they are gathered in a sorter beside the import,
/// and written in ascending order at its end. So each page of the unique table is written about once, and is full,
/// whatever the order of the records is: of a million paths in sorted blocks of some 200 rows, the file has 195 MiB
/// instead of 272. Keys that arrive in order are deferred too, for 1 % more instructions than writing them with their
/// records.
///
/// The sorter is lost if the import doesn't reach its end. Then the next writer of records scans for the keys:
/// `completeUniqueKeys`.
package final class DeferredKeys {
    fileprivate let constraint: UniqueConstraint
    fileprivate let unkeyed: StoreState.UnkeyedObjects
    /// The object number that the next inserted record gets.
    package fileprivate(set) var next: UInt64
    /// Whether the entity had objects when the deferral began. If so, each record's key is looked up among the stored
    /// keys.
    package let hasKeyed: Bool
    /// Hashes of the gathered keys.
    fileprivate var seen: SeenKeys
    /// The gathered keys, each followed by its object's number.
    fileprivate let sorter: KeySorter
    fileprivate var key: [UInt8] = []
    /// The records whose unique key an object had when the deferral began, or whose key, or another key with the same
    /// hash, was gathered before. They are to be written after the gathered keys.
    package fileprivate(set) var repeated = RecordBatch()
    /// The slots whose stored values the repeated records keep.
    package var kept: Set<Int> = []

    private static let mostRepeated = 50_000
    private static let mostBytes = 32 << 20

    fileprivate init(
        of unkeyed: StoreState.UnkeyedObjects, _ constraint: UniqueConstraint, hasKeyed: Bool, atMost most: Int,
        folder: String
    ) {
        (self.unkeyed, self.constraint, self.hasKeyed) = (unkeyed, constraint, hasKeyed)
        next = unkeyed.first
        seen = SeenKeys(most: most)
        sorter = KeySorter(memoryBudget: Store.memoryOfSortedKeys, folder: folder)
    }

    /// Whether the keys must be written now, because of the memory that they take.
    package var isFull: Bool { seen.isFull }

    package var hasManyRepeated: Bool { repeated.count >= Self.mostRepeated || repeated.byteCount >= Self.mostBytes }

    /// Whether the object of a repeated record was inserted without its key.
    package func include(_ object: RecordKey) -> Bool {
        object.entity == unkeyed.entity && unkeyed.first..<next ~= object.number
    }

    /// Gathers the key of an inserted object.
    fileprivate func gather(_ key: RawSpan, of object: RecordKey) throws {
        self.key.removeAll(keepingCapacity: true)
        self.key.appendBytes(key)
        self.key.appendBigEndian(object.number)
        try sorter.append(self.key)
    }
}

extension StoreWriter {
    /// Lets the next objects of an entity be inserted without their unique keys; nil if that isn't possible: objects of
    /// the store lack their unique keys already; the entity is abstract, or has another constraint, links, a
    /// superentity or subentities; or the model has derived attributes. The keys are full when they are `most`.
    package func beginDeferral(
        of entity: Int, _ constraint: UniqueConstraint, atMost most: Int = .max
    ) throws -> DeferredKeys? {
        let entityModel = model.entities[entity]
        guard
            state.unkeyed == nil && entityModel.uniqueConstraints == [constraint] && !hasDerivations
                && !entityModel.isAbstract && links(of: entity) == nil && model.family(of: entity).count == 1
        else { return nil }
        let entityState = try entityState(entity)
        let unkeyed = StoreState.UnkeyedObjects(entity: entity, first: entityState.nextObject)
        state.unkeyed = unkeyed
        isStateChanged = true
        return DeferredKeys(
            of: unkeyed, constraint, hasKeyed: entityState.count > 0, atMost: most, folder: store.path)
    }

    /// Whether `keys` are the keys that objects of the store lack. Otherwise another writer has written the keys.
    package func lacks(_ keys: DeferredKeys) throws -> Bool {
        try state.unkeyed == keys.unkeyed && entityState(keys.unkeyed.entity).nextObject == keys.next
    }

    /// Inserts the records of a batch as new objects, and gathers their keys; puts aside records with repeated keys.
    /// `refused` gets the error that a record's values cause; if it throws, the batch ends, and the previous records
    /// stay inserted. O(k) for k records; O(k log (k + n)) if the entity had objects when the deferral began.
    package func insert(
        _ batch: borrowing RecordBatch, deferring keys: DeferredKeys, refused: (Int, StoreError) throws -> Void
    ) throws {
        try beginChanges(of: batch.count, byteCount: batch.byteCount)
        let entity = keys.unkeyed.entity
        let isStored = keys.hasKeyed ? try findStored(entity, batch, by: keys.constraint) : nil
        let list = try batch.listedKeys(entity, model.entities[entity], keys.constraint)
        var insertion = try BatchInsertion(BatchKeys(batch, entity, nil, nil, in: self), of: entity, in: self)
        do {
            for row in 0..<batch.count {
                let key = list[row]
                if key.byteCount > Table.maximumKeyLength {
                    try refused(row, uniqueValueTooLong(entity, keys.constraint))
                } else if !key.isEmpty, isStored?[row] == true || !keys.seen.insert(key.hash) {
                    keys.repeated.append(batch[row], keeping: batch.keptSlots(at: row))
                } else {
                    let object = try insertion.insert(row, of: batch, in: self)
                    keys.next = object.number + 1
                    if !key.isEmpty { try keys.gather(key, of: object) }
                }
            }
        } catch {
            throw insertion.end(in: self, after: error)
        }
        try insertion.end(in: self)
    }

    /// Whether each record of a batch has the unique value of a stored object that has its unique key. O(k log (k +
    /// n)).
    private func findStored(
        _ entity: Int, _ batch: borrowing RecordBatch, by constraint: UniqueConstraint
    ) throws -> [Bool] {
        let rows = try BatchKeys(batch, entity, constraint, nil, in: self).rows
        return rows.map { row in
            switch row {
            case .stored: true
            case .same(let first): if case .stored = rows[first] { true } else { false }
            default: false
            }
        }
    }

    /// Ends a deferral: writes the gathered keys. Returns false if another writer has written them. O(n log n).
    package func write(_ keys: DeferredKeys) throws -> Bool {
        guard try lacks(keys) else { return false }
        // Releases the memory of the hashes, because sorting the keys needs memory.
        keys.seen = SeenKeys(most: 0)
        try writeUniqueKeys(sortedBy: [keys.sorter])
        return true
    }
}
