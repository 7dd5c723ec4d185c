internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexValues

/// The objects of an entity with 8,192 numbers: how many there are, and the bounds of their values. A scan for values that lie outside of
/// the bounds skips the zone. Known as zone maps (Moerkotte, "Small Materialized Aggregates", VLDB 1998), and as block
/// range indexes.
struct Zone: Equatable {
    /// So many numbers, whether objects have them or not.
    static let length: UInt64 = 8192

    var count: UInt64 = 0
    var bounds: RecordBounds
    /// Which of the objects its columns tell of.
    var coded = CodedPlaces()

    /// Of no objects.
    init(of entity: Entity) { bounds = RecordBounds(of: entity) }

    /// Counts and includes a record. False when it does not match its checksum.
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

/// Names a zone: in the meta table, "zone" and the numbers, big-endian.
struct ZoneKey: Hashable {
    let entity: Int
    /// Of the zones of the entity.
    let index: UInt64

    init(_ object: RecordKey) { (entity, index) = (object.entity, object.number / Zone.length) }

    init(entity: Int, index: UInt64) { (self.entity, self.index) = (entity, index) }

    /// The key of a zone in the meta table; nil for another one.
    init?(_ bytes: RawSpan) {
        let prefix = Self.prefix
        guard bytes.byteCount == prefix.count + 10, bytes.extracting(first: prefix.count).isEqual(to: prefix.span.bytes)
        else { return nil }
        self.init(numbersAt: prefix.count, of: bytes)
        guard index <= RecordKey.maximumNumber / Zone.length else { return nil }
    }

    /// Reads what `appendNumbers` has written.
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

    /// Mixed into the value's checksum, so that no zone can take another's place.
    var checksum: UInt32 { bytes.span.bytes.checksum }

    var numbers: Range<UInt64> { index * Zone.length..<(index + 1) * Zone.length }

    /// How many of its numbers are given out, when one is the next.
    func usedLength(_ next: UInt64) -> Int {
        Int(truncatingIfNeeded: min(max(next, numbers.lowerBound), numbers.upperBound) - numbers.lowerBound)
    }

    /// Where a number stands among those of the zone.
    func place(of number: UInt64) -> Int { Int(truncatingIfNeeded: number &- numbers.lowerBound) }

    /// What errors call the zone.
    var name: String { "zone \(index) of entity \(entity)" }
}

extension Range<UInt64> {
    /// Divides numbers of an entity among their zones.
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
