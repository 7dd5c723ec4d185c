package import FetchIndexEssentials
internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexValues

/// Another store that allocated object numbers of this store. In the meta table, "numbers" is the store whose exports
/// filled this one; "originals" are the stores that this one is a copy of.
package struct NumbersOrigin: Equatable, Sendable {
    package let store: UUID
    /// By entity, the number after the last object whose number the origin allocated. This number and greater ones
    /// don't count as the origin's.
    package var ends: [Int: UInt64] = [:]

    package init(store: UUID) { self.store = store }

    /// Whether an object number counts as the origin's.
    package func shares(_ number: UInt64, of entity: Int) -> Bool { number < ends[entity] ?? 1 }

    static func decode(_ bytes: RawSpan) throws -> [NumbersOrigin] {
        var reader = try ByteReader(checked: bytes, "an origin of the store's numbers")
        var origins: [NumbersOrigin] = []
        while !reader.isAtEnd {
            guard let store = UUID(copying: bytes.extracting(try reader.range(16))) else {
                throw StoreError.corrupted("an origin of the store's numbers has no identifier")
            }
            var origin = NumbersOrigin(store: store)
            for _ in 0..<(try reader.varint()) {
                origin.ends[Int(clamping: try reader.varint())] = try reader.varint()
            }
            origins.append(origin)
        }
        return origins
    }

    static func encode(_ origins: [NumbersOrigin]) -> [UInt8] {
        var bytes: [UInt8] = []
        for origin in origins {
            withUnsafeBytes(of: origin.store.uuid) { bytes.append(contentsOf: $0) }
            bytes.appendVarint(UInt64(origin.ends.count))
            for (entity, end) in origin.ends.sorted(by: { $0.key < $1.key }) {
                bytes.appendVarint(UInt64(entity))
                bytes.appendVarint(end)
            }
        }
        bytes.appendChecksum()
        return bytes
    }

    /// The stores that a store is a copy of, the oldest first. Throws `corrupted` if they can't be read.
    static func originals(in view: TransactionView, _ meta: Table) throws -> [NumbersOrigin] {
        var originals: [NumbersOrigin] = []
        _ = try view.get(StoreLayout.originalsKey, in: meta) { originals = try decode($0) }
        return originals
    }
}

extension StoreReader {
    /// The store whose export filled this one; nil if none is noted. Throws `corrupted` if it can't be read.
    package func numbersOrigin() throws -> NumbersOrigin? {
        var origin: NumbersOrigin?
        _ = try view.get(StoreLayout.numbersKey, in: tables.meta) { origin = try NumbersOrigin.decode($0).first }
        return origin
    }

    /// The stores that this one is a copy of, the oldest first. Throws `corrupted` if they can't be read.
    package func originals() throws -> [NumbersOrigin] { try NumbersOrigin.originals(in: view, tables.meta) }

    /// Whether the origin's numbers of an entity end at the entity's next number.
    package func follows(_ origin: NumbersOrigin, _ entity: Int) throws -> Bool {
        try entityState(entity).nextObject == origin.ends[entity] ?? 1
    }
}

extension StoreWriter {
    /// Makes another store the origin of the numbers of all objects that an entity has had. Writes nothing if it's
    /// their origin already.
    package func noteNumbers(of store: UUID, _ entity: Int) throws {
        // If this store and the other one share object numbers already, like a copy and its original, the range of
        // shared numbers is extended.
        let known = try ([numbersOrigin()].compactMap { $0 } + originals()).first { $0.store == store }
        var origin = known ?? NumbersOrigin(store: store)
        origin.ends[entity] = try entityState(entity).nextObject
        if origin != known {
            try view.put(NumbersOrigin.encode([origin]), for: StoreLayout.numbersKey, in: tables.meta)
        }
    }

    /// Removes the origin if it's damaged, and the originals if they are damaged. Returns false if nothing was damaged.
    func repairOrigins() throws -> Bool {
        var isRepaired = false
        for key in [StoreLayout.numbersKey, StoreLayout.originalsKey] {
            do {
                _ = try view.get(key, in: tables.meta) { _ = try NumbersOrigin.decode($0) }
            } catch StoreError.corrupted {
                isRepaired = try view.delete(key, in: tables.meta) || isRepaired
            }
        }
        return isRepaired
    }
}
