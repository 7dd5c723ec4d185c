internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexSorting

/// The unique keys of a first import that didn't reach its end: `DeferredKeys`. The state names the objects without
/// keys. Readers that look for a unique value scan these objects, and the next writer of records first writes the
/// missing keys. So a killed import alone makes no repair necessary.
extension Store {
    /// The approximate maximum number of bytes of keys that are sorted in memory.
    static let memoryOfSortedKeys = 96 << 20

    /// Writes the missing unique keys under the writer's lock, and returns the lock. If a record is damaged, or two
    /// objects have the same unique value, the state still names the objects without keys: objects of other entities
    /// can be saved, but objects of this entity only after a repair. O(n log n) for the objects without keys.
    func completeUniqueKeys(_ lock: consuming FolderLock) throws -> FolderLock {
        let writer = try StoreWriter(self, author: "", lock)
        if let unkeyed = writer.state.unkeyed, writer.model.entities.indices.contains(unkeyed.entity) {
            if let sorters = try unlessDamaged({ try sortedUniqueKeys(of: unkeyed) }) {
                try writer.writeUniqueKeys(sortedBy: sorters)
            }
        } else {
            writer.endUnkeyed()
        }
        return try writer.commitAndKeepLock()
    }

    private func unlessDamaged<Result>(_ body: () throws -> Result) throws -> Result? {
        do { return try body() } catch  where error.isDamage { return nil }
    }

    /// The unique keys of the objects that lack them, each followed by its object's number, in sorters. The caller has
    /// the writer's lock, so the snapshot sees the writer's state.
    private func sortedUniqueKeys(of unkeyed: StoreState.UnkeyedObjects) throws -> [KeySorter] {
        let snapshot = try snapshot()
        let (number, first) = (unkeyed.entity, unkeyed.first)
        let scan = try Scan(of: snapshot, .numbers([number: NumberRanges(from: first)]), entities: [number])
        let sorters = (0..<scan.threadCount).map { _ in
            KeySorter(memoryBudget: Self.memoryOfSortedKeys / scan.threadCount, folder: path)
        }
        let entity = snapshot.model.entities[number]
        let constraints = entity.uniqueConstraints
        try scan.forEachBlock(of: number) { thread, block in
            var key: [UInt8] = []
            try block.forEach { object, record in
                for constraint in constraints {
                    guard try StoreReader.makeUniqueKey(number, entity, constraint, record, in: &key) else { continue }
                    key.appendBigEndian(object.number)
                    try sorters[thread].append(key)
                }
            }
        }
        return sorters
    }
}

extension StoreReader {
    /// False if objects of an entity may lack their unique keys.
    package func hasUniqueKeys(of entity: Int) -> Bool { state.unkeyed?.entity != entity }

    func mustHaveUniqueKeys(_ object: RecordKey) -> Bool {
        guard let unkeyed = state.unkeyed else { return true }
        return object.entity != unkeyed.entity || object.number < unkeyed.first
    }

    /// Finds the object with a unique key among the objects that lack their keys, by scanning their records. Returns
    /// nil if there isn't one. O(n) for the objects that lack their keys.
    func unkeyedObject(_ entity: Int, _ constraint: UniqueConstraint, _ key: [UInt8]) throws -> RecordKey? {
        guard let unkeyed = state.unkeyed, unkeyed.entity == entity else { return nil }
        var found: RecordKey?
        var scanned: UInt64 = 0
        try scan(entity, from: unkeyed.first) { object, record in
            scanned += 1
            if try uniqueKey(entity, constraint, record) == key { found = object }
            return found == nil
        }
        if found == nil { try requireCount(of: entity, scanned, from: unkeyed.first) }
        return found
    }

    /// The number of an entity's objects whose object numbers are at least `number`. It's right if `number` is 0, or if
    /// every object number from `number` up to the last one that was allocated has an object.
    func count(of entity: Int, from number: UInt64) throws -> UInt64 {
        let state = try entityState(entity)
        return min(state.count, state.nextObject - min(max(number, 1), state.nextObject))
    }
}

extension StoreWriter {
    /// The memory of changed pages is limited to `memoryOfKeyPages` bytes, once in `keysBetweenLimits` keys.
    private static let (memoryOfKeyPages, keysBetweenLimits) = (24 << 20, 1024)

    /// Throws `corrupted` if objects of an entity may lack their unique keys.
    func requireUniqueKeys(of entity: Int) throws {
        guard !hasUniqueKeys(of: entity) else { return }
        throw StoreError.corrupted(
            "unique keys of \(model.entities[entity].name) are missing, because a record is damaged or two records have the same "
                + "unique value; repair the store")
    }

    func endUnkeyed() {
        state.unkeyed = nil
        isStateChanged = true
    }

    /// Writes the keys of the objects that lack them, each followed by its object's number in the sorters. If a key
    /// leads to another object already, it isn't replaced, and the state still names the objects. O(n log n).
    func writeUniqueKeys(sortedBy sorters: [KeySorter]) throws {
        guard let entity = state.unkeyed?.entity else { return }
        var isWhole = true
        var count = 0
        try KeySorter.forEachSorted(of: sorters) { keyAndNumber in
            if count % Self.keysBetweenLimits == 0 { try limitMemory(to: Self.memoryOfKeyPages) }
            count += 1
            let end = keyAndNumber.byteCount - 8
            let number = UInt64(bigEndian: keyAndNumber.unsafeLoadUnaligned(fromByteOffset: end, as: UInt64.self))
            let key = keyAndNumber.extracting(first: end)
            try Self.withUniqueValue(of: RecordKey(entity: entity, number: number), under: key) { value in
                if try appendUniqueKey(key, value) { return }
                do { try view.put(value, for: key, in: tables.unique, replacing: false) } catch let error as LMDBError
                    where error == .keyExists
                {
                    // A killed program of an older version may have written this key.
                    var isSame = false
                    _ = try view.get(key, in: tables.unique) { isSame = $0.isEqual(to: value) }
                    isWhole = isWhole && isSame
                }
            }
        }
        if isWhole { endUnkeyed() }
    }

    /// Appends a unique key, which fills pages. Returns false if this key, or an earlier one of this transaction, isn't
    /// greater than all keys of the table.
    func appendUniqueKey(_ key: RawSpan, _ value: RawSpan) throws -> Bool {
        guard canAppendUniqueKeys else { return false }
        do {
            try view.put(value, for: key, in: tables.unique, appending: true)
            return true
        } catch let error as LMDBError where error == .keyExists {
            canAppendUniqueKeys = false
            return false
        }
    }
}
