internal import Bytes
internal import Files
internal import LMDB
package import Models
internal import Sorting
internal import SystemBasics

/// Unique keys that a first import leaves out, and that are written at its end in their order, so that each page with them is
/// written once. Until then the state names the entity: readers look for a unique value by a scan, and the next writer of records
/// writes the keys first. So an import that is killed leaves nothing undone.
extension Store {
    /// Bytes of keys that are sorted in memory, and that one transaction writes: LMDB holds the pages that it changes in memory.
    private static let memoryBudget = 96 << 20
    private static let partLength = 24 << 20

    /// Writes the unique keys that are missing, under a lock that it returns. O(n log n) for the objects of the entity.
    /// Throws `corrupted` when two of them have the same unique value.
    func completeUniqueKeys(_ lock: consuming FolderLock) throws -> FolderLock {
        var writer = try StoreWriter(self, author: "", lock)
        guard let entity = writer.state.unkeyedEntity, writer.model.entities.indices.contains(entity) else {
            writer.setUnkeyed(nil)
            return try writer.commitAndKeepLock()
        }
        // Damaged records must not keep those of other entities from being saved.
        guard let sorters = try unlessDamaged({ try sortedUniqueKeys(of: entity) }) else {
            return try writer.commitAndKeepLock()
        }
        var last: [UInt8] = []
        var written = 0
        try KeySorter.forEachSorted(of: sorters) { keyAndNumber in
            let end = keyAndNumber.byteCount - 8
            let key = keyAndNumber.extracting(first: end)
            let number = UInt64(bigEndian: keyAndNumber.unsafeLoadUnaligned(fromByteOffset: end, as: UInt64.self))
            guard last.isEmpty || !key.isEqual(to: last.span.bytes) else {
                throw StoreError.corrupted(
                    "two objects of \(writer.model.entities[entity].name) have the same unique value")
            }
            last.removeAll(keepingCapacity: true)
            last.appendBytes(key)
            try writer.appendUniqueKey(key, of: RecordKey(entity: entity, number: number))
            written += key.byteCount
            guard written >= Self.partLength else { return }
            written = 0
            writer = try StoreWriter(self, author: "", writer.commitAndKeepLock())
        }
        writer.setUnkeyed(nil)
        return try writer.commitAndKeepLock()
    }

    private func unlessDamaged<Result>(_ body: () throws -> Result) throws -> Result? {
        do { return try body() } catch  where error.isDamage { return nil }
    }

    /// The keys of an entity, each followed by its object's number. Under the writer's lock, the newest state is that of the writer.
    private func sortedUniqueKeys(of number: Int) throws -> [KeySorter] {
        let snapshot = try snapshot()
        let scan = try ParallelScan(of: snapshot, objects: snapshot.entityState(number).count)
        let sorters = (0..<scan.threadCount).map { _ in
            KeySorter(memoryBudget: Self.memoryBudget / scan.threadCount, folder: path)
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
    /// Whether the unique keys of an entity lead to all of its objects.
    package func hasUniqueKeys(of entity: Int) -> Bool { state.unkeyedEntity != entity }

    /// The object with a unique key, found by a scan. O(n).
    func objectByScan(_ entity: Int, _ constraint: UniqueConstraint, _ key: [UInt8]) throws -> RecordKey? {
        var found: RecordKey?
        try scan(entity) { object, record in
            if try uniqueKey(entity, constraint, record) == key { found = object }
            return found == nil
        }
        return found
    }
}

extension StoreWriter {
    /// Whether the next objects of an entity may be inserted without unique keys: it has no objects, one constraint, and shares its
    /// keys with no other entity.
    package func canDeferUniqueKeys(of number: Int, _ constraint: UniqueConstraint) throws -> Bool {
        let entity = model.entities[number]
        return try state.unkeyedEntity == nil && entity.uniqueConstraints == [constraint] && !hasDerivations
            && !entity.isAbstract && links(of: number) == nil && model.family(of: number).count == 1
            && entityState(number).count == 0
    }

    /// Throws `corrupted` when unique keys of an entity are missing: damaged records kept them from being written.
    func requireUniqueKeys(of entity: Int) throws {
        guard !hasUniqueKeys(of: entity) else { return }
        throw StoreError.corrupted(
            "unique keys of \(model.entities[entity].name) are missing, because a record is damaged; repair the store")
    }

    package func setUnkeyed(_ entity: Int?) {
        state.unkeyedEntity = entity
        isStateChanged = true
    }

    /// Adds objects whose unique keys are left out. The caller knows that their unique values are all different.
    package func appendUnkeyed(_ entity: Int, _ batch: borrowing RecordBatch, where isWanted: (Int) -> Bool) throws {
        try requireChangeable()
        let first = RecordKey(entity: entity, number: try entityState(entity).nextObject)
        var next = first.number
        for index in 0..<batch.count where isWanted(index) {
            try append(batch[index], as: RecordKey(entity: entity, number: next))
            next += 1
        }
        if next > first.number { try noteInserted(first, count: next - first.number) }
    }

    /// Writes a unique key that is probably the greatest: then LMDB fills its pages.
    fileprivate func appendUniqueKey(_ key: RawSpan, of object: RecordKey) throws {
        try Self.withUniqueValue(of: object, under: key) { value in
            if canAppendUniqueKeys {
                do {
                    return try view.put(value, for: key, in: tables.unique, appending: true)
                } catch let error as LMDBError where error == .keyExists {
                    canAppendUniqueKeys = false
                }
            }
            try view.put(value, for: key, in: tables.unique)
        }
    }
}
