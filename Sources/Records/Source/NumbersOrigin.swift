internal import Bytes
internal import LMDB
internal import Models
package import SystemBasics
internal import Values

/// Another store whose numbers the objects of this one have: it was filled with that one's export while it was empty. The value of
/// "numbers" in the meta table.
package struct NumbersOrigin: Equatable, Sendable {
    package let store: UUID
    /// By entity, the number behind the last object that came from there: later ones are this store's own.
    package var ends: [Int: UInt64] = [:]

    package init(store: UUID) { self.store = store }

    init(decoding bytes: RawSpan) throws {
        var reader = try ByteReader(checked: bytes, "the origin of the store's numbers")
        guard let store = UUID(copying: bytes.extracting(try reader.range(16))) else {
            throw StoreError.corrupted("the origin of the store's numbers has no identifier")
        }
        self.store = store
        for _ in 0..<(try reader.varint()) { ends[Int(clamping: try reader.varint())] = try reader.varint() }
    }

    var encoded: [UInt8] {
        var bytes = withUnsafeBytes(of: store.uuid) { [UInt8]($0) }
        bytes.appendVarint(UInt64(ends.count))
        for (entity, end) in ends.sorted(by: { $0.key < $1.key }) {
            bytes.appendVarint(UInt64(entity))
            bytes.appendVarint(end)
        }
        bytes.appendChecksum()
        return bytes
    }
}

extension StoreReader {
    /// Nil where the numbers are the store's own. Throws `corrupted`.
    package func numbersOrigin() throws -> NumbersOrigin? {
        var origin: NumbersOrigin?
        _ = try view.get(StoreLayout.numbersKey, in: tables.meta) { origin = try NumbersOrigin(decoding: $0) }
        return origin
    }

    /// Whether an entity has had no other objects than those of the origin, so that new numbers of the origin are free.
    package func follows(_ origin: NumbersOrigin, _ entity: Int) throws -> Bool {
        try entityState(entity).nextObject == origin.ends[entity] ?? 1
    }
}

extension StoreWriter {
    /// Notes that the objects of an entity came from another store up to here, if they did.
    package func noteNumbers(of store: UUID, _ entity: Int) throws {
        let stored = try numbersOrigin()
        var origin = stored?.store == store ? stored ?? NumbersOrigin(store: store) : NumbersOrigin(store: store)
        origin.ends[entity] = try entityState(entity).nextObject
        if origin != stored { try view.put(origin.encoded, for: StoreLayout.numbersKey, in: tables.meta) }
    }
}
