internal import FetchIndexPlatform
internal import FetchIndexLMDB
package import FetchIndexModels
internal import FetchIndexSorting

/// Unique keys that a first import leaves out. Later they are sorted and written, so that each page is written about
/// once. Until then, the state names the objects without keys. Readers that look for a unique value scan these objects,
/// and the next writer of records first writes the missing keys. So a killed import alone makes no repair necessary.
extension Store {
    /// The approximate maximum number of bytes of keys that are sorted in memory.
    private static let memoryBudget = 96 << 20
    /// The approximate number of bytes after which a transaction is committed, because LMDB holds the changed pages of
    /// a transaction in memory.
    private static let partLength = 24 << 20

    /// Writes the missing unique keys under the writer's lock, and returns the lock. If a record is damaged, or two
    /// objects have the same unique value, the state still names the objects without keys: objects of other entities
    /// can be saved, but objects of this entity only after a repair. O(n log n) for the objects without keys.
    func completeUniqueKeys(_ lock: consuming FolderLock) throws -> FolderLock {
        var writer = try StoreWriter(self, author: "", lock)
        guard let unkeyed = writer.state.unkeyed, writer.model.entities.indices.contains(unkeyed.entity) else {
            writer.endUnkeyed()
            return try writer.commitAndKeepLock()
        }
        guard let sorters = try unlessDamaged({ try sortedUniqueKeys(of: unkeyed) }) else {
            return try writer.commitAndKeepLock()
        }
        var block = KeyBlock()
        var written = 0
        var isWhole = true
        try KeySorter.forEachSorted(of: sorters) { keyAndNumber in
            block.append(keyAndNumber)
            guard block.isFull else { return }
            written += try writer.writeUniqueKeys(block.take(), of: unkeyed.entity, isWhole: &isWhole)
            guard written >= Self.partLength else { return }
            written = 0
            writer = try StoreWriter(self, author: "", writer.commitAndKeepLock())
        }
        _ = try writer.writeUniqueKeys(block, of: unkeyed.entity, isWhole: &isWhole)
        if isWhole { writer.endUnkeyed() }
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
    /// Whether the next objects of an entity may be inserted without unique keys: no objects of the store lack their
    /// unique keys already; the entity isn't abstract, has only this constraint, and has no links, superentity or
    /// subentities; and the model has no derived attributes.
    package func canDeferUniqueKeys(of number: Int, _ constraint: UniqueConstraint) -> Bool {
        let entity = model.entities[number]
        return state.unkeyed == nil && entity.uniqueConstraints == [constraint] && !hasDerivations
            && !entity.isAbstract && links(of: number) == nil && model.family(of: number).count == 1
    }

    /// Throws `corrupted` if objects of an entity may lack their unique keys.
    func requireUniqueKeys(of entity: Int) throws {
        guard !hasUniqueKeys(of: entity) else { return }
        throw StoreError.corrupted(
            "unique keys of \(model.entities[entity].name) are missing, because a record is damaged or two records have the same "
                + "unique value; repair the store")
    }

    /// Makes the state say that the next objects of an entity are inserted without unique keys.
    package func beginUnkeyed(_ entity: Int) throws {
        state.unkeyed = StoreState.UnkeyedObjects(entity: entity, first: try entityState(entity).nextObject)
        isStateChanged = true
    }

    func endUnkeyed() {
        state.unkeyed = nil
        isStateChanged = true
    }

    /// Whether each record of a batch has the unique value of a stored object. Objects that lack their unique keys
    /// aren't found. O(k log (k + n)).
    package func findStored(
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

    /// Writes sorted unique keys, each followed by its object's number. Returns the approximate number of bytes that
    /// LMDB holds in memory for them until the commit. If a key leads to another object already, it isn't replaced, and
    /// `isWhole` is set to false.
    fileprivate func writeUniqueKeys(_ block: KeyBlock, of entity: Int, isWhole: inout Bool) throws -> Int {
        var held = 0
        var pages = VisitedPages()
        try view.withCursor(on: tables.unique) { cursor in
            try block.forEach { keyAndNumber in
                let end = keyAndNumber.byteCount - 8
                let key = keyAndNumber.extracting(first: end)
                let number = UInt64(bigEndian: keyAndNumber.unsafeLoadUnaligned(fromByteOffset: end, as: UInt64.self))
                let object = RecordKey(entity: entity, number: number)
                held += key.byteCount
                try Self.withUniqueValue(of: object, under: key) { value in
                    if try appendUniqueKey(key, value) { return }
                    if try cursor.seek(toKeyFrom: key) {
                        pages.visit(cursor)
                        if cursor.key.isEqual(to: key) {
                            // A killed attempt to write the missing keys may have written this key.
                            isWhole = isWhole && cursor.value.isEqual(to: value)
                            return
                        }
                    }
                    try cursor.put(value, for: key)
                }
            }
        }
        return held + pages.byteCount
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
