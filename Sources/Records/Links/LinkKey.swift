internal import FetchIndexPlatform
package import FetchIndexModels
package import FetchIndexValues

/// A link key in the unique table. Link keys lead from an object to its holders, the objects whose records refer to it.
///
///     count of links to a target 32,768 + entity 2 BE | slot 2 BE | target 8 BE                  count 8 | checksum 4
///     a link                     ... | position as OrderKey | [other side as OrderKey] | holder 8 BE    checksum 4
///
/// Entity and slot are those of the relationship's declaration in the topmost superentity that has it. The other side
/// is only in the links of join objects: the key of the other object that the holder joins. Each checksum also covers
/// its key.
struct LinkKey {
    static let firstByte: UInt8 = 0x80
    static let targetLength = 12
    /// The length in bytes up to which a position without zero bytes always fits into a link key.
    static let greatestPosition = 400

    let name: EntityLinks.Name
    let target: RecordKey
    /// The object whose record refers to the target; nil if the key is that of a count.
    let holder: RecordKey?

    static func isLink(_ key: RawSpan) -> Bool {
        key.byteCount > 0 && key.unsafeLoad(as: UInt8.self) >= firstByte
    }

    /// The prefix of the link keys with this entity and slot.
    static func prefix(_ name: EntityLinks.Name) -> [UInt8] {
        var key: [UInt8] = []
        key.appendBigEndian(UInt16(truncatingIfNeeded: name.entity) | 1 << 15)
        key.appendBigEndian(UInt16(truncatingIfNeeded: name.slot))
        return key
    }

    static func prefix(_ name: EntityLinks.Name, to target: RecordKey) -> [UInt8] {
        var key = prefix(name)
        key.appendBigEndian(target.rawValue)
        return key
    }

    /// Returns nil if the bytes can't be a link key.
    init?(_ key: RawSpan) {
        guard key.byteCount == Self.targetLength || key.byteCount > Self.targetLength + 8 else { return nil }
        let entity = UInt16(bigEndian: key.unsafeLoadUnaligned(as: UInt16.self))
        let slot = UInt16(bigEndian: key.unsafeLoadUnaligned(fromByteOffset: 2, as: UInt16.self))
        guard entity >= 1 << 15 else { return nil }
        name = EntityLinks.Name(entity: Int(entity & 0x7FFF), slot: Int(slot))
        target = RecordKey(
            rawValue: UInt64(bigEndian: key.unsafeLoadUnaligned(fromByteOffset: 4, as: UInt64.self)))
        holder = key.byteCount == Self.targetLength ? nil : Self.holder(of: key)
    }

    static func holder(of key: RawSpan) -> RecordKey {
        RecordKey(
            rawValue: UInt64(bigEndian: key.unsafeLoadUnaligned(fromByteOffset: key.byteCount - 8, as: UInt64.self)))
    }

    /// The value of a link's key: the checksum of the key.
    static func value(of key: [UInt8]) -> [UInt8] {
        var value: [UInt8] = []
        value.appendNumber(key.span.bytes.checksum)
        return value
    }

    static func isWhole(_ key: RawSpan, _ value: RawSpan) -> Bool {
        value.byteCount == 4 && UInt32(littleEndian: value.unsafeLoadUnaligned(as: UInt32.self)) == key.checksum
    }

    /// The value of the key that counts the links to an object: the count and a checksum.
    static func count(_ count: UInt64, under key: [UInt8]) -> [UInt8] {
        var value: [UInt8] = []
        value.appendNumber(count)
        value.appendChecksum(with: key.span.bytes.checksum)
        return value
    }

    static func count(_ value: RawSpan, under key: RawSpan) throws -> UInt64 {
        var reader = try ByteReader(checked: value, with: key.checksum, "the number of links to an object")
        let count = try reader.uint64()
        guard count <= RecordKey.maximumNumber else {
            throw StoreError.corrupted("the number of links to an object is out of range")
        }
        return count
    }
}

/// A non-null reference in a record: its target, and the key of its link.
struct StoredLink: Equatable {
    let target: RecordKey
    let key: [UInt8]

    /// Reads a reference of the record of `holder`. Returns nil if the reference is null.
    init?(_ reference: EntityLinks.Reference, of record: RecordView, _ holder: RecordKey) throws {
        guard let number = try record.integer(at: reference.slot) else { return nil }
        target = RecordKey(rawValue: UInt64(bitPattern: number))
        var key = LinkKey.prefix(reference.name, to: target)
        try record.appendOrderKey(of: reference.position, as: .data, to: &key)
        if let other = reference.other { try record.appendOrderKey(of: other, as: .integer, to: &key) }
        key.appendBigEndian(holder.rawValue)
        self.key = key
    }
}

extension RecordView {
    /// The key to which a reference leads; nil for null.
    package func key(at slot: Int) throws -> RecordKey? { try integer(at: slot).map(RecordKey.init(reference:)) }
}

extension RecordKey {
    /// The key of the object to which a reference leads, from the reference's value; nil for null.
    package init?(_ reference: Value) {
        guard case .integer(let number) = reference else { return nil }
        self.init(reference: number)
    }

    /// The value of a reference to the object with this key.
    package var reference: Value { .integer(Int64(bitPattern: rawValue)) }
}
