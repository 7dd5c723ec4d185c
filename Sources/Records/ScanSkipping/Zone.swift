internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexValues

/// A summary of an entity's objects in a range of 8,192 object numbers: their count, and the bounds of their values. A
/// scan for values outside of the bounds can skip the zone. Known as zone maps (Moerkotte, "Small Materialized
/// Aggregates", VLDB 1998) and as block range indexes.
struct Zone: Equatable {
    /// The number of object numbers in a zone, in use or not.
    static let length: UInt64 = 8192

    var count: UInt64 = 0
    var bounds: RecordBounds
    /// The places for which the zone's columns have valid codes.
    var coded = CodedPlaces()

    /// A zone without objects.
    init(of entity: Entity) { bounds = RecordBounds(of: entity) }

    /// Counts a record and includes its values. Returns false, and does neither, if the record doesn't match its
    /// checksum.
    mutating func insert(_ record: RawSpan, missing: [UInt8]) throws -> Bool {
        guard record.endsWithChecksum() else { return false }
        _ = try bounds.include(record, missing: missing.span.bytes)
        count += 1
        return true
    }

    // MARK: Bytes

    init(_ value: RawSpan, at key: ZoneKey) throws {
        var reader = try ByteReader(checked: value, with: key.checksum, key.name)
        count = try reader.varint()
        bounds = try RecordBounds(&reader)
        coded = try CodedPlaces(&reader)
        guard count <= Self.length else { throw StoreError.corrupted("\(key.name) has too many objects") }
    }

    func encoded(at key: ZoneKey) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendVarint(count)
        bounds.append(to: &bytes)
        coded.append(to: &bytes)
        bytes.appendChecksum(with: key.checksum)
        return bytes
    }
}

/// The key of a zone in the meta table: "zone", the entity and the index. Numbers are big-endian.
struct ZoneKey: Hashable {
    let entity: Int
    /// The index of the zone in its entity: object number / 8,192.
    let index: UInt64

    init(_ object: RecordKey) { (entity, index) = (object.entity, object.number / Zone.length) }

    init(entity: Int, index: UInt64) { (self.entity, self.index) = (entity, index) }

    /// Returns nil if the bytes aren't the key of a zone.
    init?(_ bytes: RawSpan) {
        let prefix = Self.prefix
        guard bytes.byteCount == prefix.count + 10, bytes.extracting(first: prefix.count).isEqual(to: prefix.span.bytes)
        else { return nil }
        self.init(numbersAt: prefix.count, of: bytes)
        guard index <= RecordKey.maximumNumber / Zone.length else { return nil }
    }

    /// Reads the entity and the index that `appendNumbers` wrote.
    init(numbersAt offset: Int, of bytes: RawSpan) {
        entity = Int(UInt16(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self)))
        index = UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset + 2, as: UInt64.self))
    }

    private static let prefix = Array("zone".utf8)

    var bytes: [UInt8] {
        var bytes = Self.prefix
        appendNumbers(to: &bytes)
        return bytes
    }

    func appendNumbers(to bytes: inout [UInt8]) {
        bytes.appendBigEndian(UInt16(truncatingIfNeeded: entity))
        bytes.appendBigEndian(index)
    }

    /// The key's checksum. The value's checksum is XORed with it, so that a zone isn't accepted under another key.
    var checksum: UInt32 { bytes.span.bytes.checksum }

    var numbers: Range<UInt64> { index * Zone.length..<(index + 1) * Zone.length }

    /// The number of the zone's object numbers that are allocated, given that all numbers below `next` are.
    func usedLength(_ next: UInt64) -> Int {
        Int(truncatingIfNeeded: min(max(next, numbers.lowerBound), numbers.upperBound) - numbers.lowerBound)
    }

    /// The place of an object number: its index in the zone.
    func place(of number: UInt64) -> Int { Int(truncatingIfNeeded: number &- numbers.lowerBound) }

    /// The zone's name in errors.
    var name: String { "zone \(index) of entity \(entity)" }
}

extension RecordKey {
    /// The number of object numbers in a zone.
    package static let numbersOfZone = Int(Zone.length)

    /// The index of the object's zone in its entity.
    package var zone: UInt64 { number / Zone.length }
}

extension Range<UInt64> {
    /// Calls the body with each zone of an entity that contains some of these object numbers, and with the zone's part
    /// of these numbers.
    func forEachZone(of entity: Int, _ body: (ZoneKey, Range<UInt64>) throws -> Void) rethrows {
        var lower = lowerBound
        while lower < upperBound {
            let key = ZoneKey(RecordKey(entity: entity, number: lower))
            let upper = Swift.min(upperBound, key.numbers.upperBound)
            try body(key, lower..<upper)
            lower = upper
        }
    }
}
