internal import FetchIndexPlatform
internal import FetchIndexModels

/// The texts that a zone's objects have in a slot, in dictionary encoding: each different text once, and one code per
/// place. A place is an object number's index in the zone. A scan tests the different texts, not each object's text,
/// and can skip objects whose text doesn't match (Abadi, Madden and Ferreira, "Integrating Compression and Execution in
/// Column-Oriented Database Systems", SIGMOD 2006).
///
///     length of a code 1 | number of texts varint | of each: length varint, bytes | codes, little-endian | checksum 4
struct TextColumn: ~Escapable {
    /// The minimum number of object numbers per different text.
    static let numbersOfText = 8
    static let mostTexts = Int(Zone.length) / numbersOfText
    /// The maximum length of a text in bytes. If a text is longer, its zone gets no new column of this slot.
    static let longestText = 64

    /// The code of an object number without an object.
    static let absent = 0
    /// The code of null.
    static let null = 1
    /// The code of the first text. The codes of the following texts ascend by one.
    static let firstText = 2
    /// The length of a lookup table with an element per code: a power of two that is greater than all codes.
    static let codeCount = 2048

    private let texts: RawSpan
    private let ranges: [Range<Int>]
    private let codes: RawSpan
    private let codeLength: Int

    /// Reads a column with codes for the first `count` object numbers of a zone.
    @_lifetime(copy value)
    init(_ value: RawSpan, at key: TextColumnKey, count: Int) throws {
        var reader = try ByteReader(checked: value, with: key.checksum, key.name)
        codeLength = Int(try reader.uint8())
        let textCount = try reader.count()
        var ranges: [Range<Int>] = []
        ranges.reserveCapacity(textCount)
        for _ in 0..<textCount { ranges.append(try reader.range(try reader.count())) }
        self.ranges = ranges
        let start = reader.offset
        let codes = reader.bytes.extracting(start..<reader.bytes.byteCount)
        guard codeLength == 1 || codeLength == 2, codes.byteCount == count * codeLength, textCount <= Self.mostTexts
        else { throw StoreError.corrupted("\(key.name) is malformed") }
        self.codes = codes
        texts = reader.bytes
    }

    /// The number of codes.
    var count: Int { codes.byteCount / codeLength }

    /// A lookup table that says for each code whether a test holds. Throws the test's error. O(texts).
    func codes(where test: ColumnTest) throws -> [Bool] {
        var holds = [Bool](repeating: false, count: Self.codeCount)
        holds[Self.null] = test.holdsForNull
        for (index, range) in ranges.enumerated() {
            holds[Self.firstText + index] = try test.holds(texts.extracting(range))
        }
        return holds
    }

    /// For each place, clears its element of `places` if its code isn't wanted, and sets its element of `present` to
    /// whether the place has an object. O(count).
    func select(_ wanted: [Bool], in places: inout [Bool], present: inout [Bool]) {
        if codeLength == 1 {
            select(wanted, &places, &present, as: UInt8.self)
        } else {
            select(wanted, &places, &present, as: UInt16.self)
        }
    }

    private func select<Code: FixedWidthInteger & BitwiseCopyable>(
        _ wanted: [Bool], _ places: inout [Bool], _ present: inout [Bool], as type: Code.Type
    ) {
        precondition(wanted.count == Self.codeCount && places.count == count && present.count == count)
        codes.withUnsafeBytes { codes in
            wanted.withUnsafeBufferPointer { wanted in
                places.withUnsafeMutableBufferPointer { places in
                    present.withUnsafeMutableBufferPointer { present in
                        for place in places.indices {
                            let code = Int(
                                truncatingIfNeeded: codes.loadUnaligned(
                                    fromByteOffset: place * MemoryLayout<Code>.size, as: type
                                ).littleEndian)
                            places[place] = places[place] && wanted[code & (Self.codeCount - 1)]
                            present[place] = code != Self.absent
                        }
                    }
                }
            }
        }
    }

    func copyOfTexts() -> [[UInt8]] {
        var copies: [[UInt8]] = []
        for range in ranges { copies.append([UInt8](copying: texts.extracting(range))) }
        return copies
    }

    func copyOfCodes() -> [Int] {
        var copies: [Int] = []
        for place in 0..<count { copies.append(code(at: place)) }
        return copies
    }

    /// The code at a place: `absent`, `null`, or the code of a text, which is at least `firstText`.
    private func code(at place: Int) -> Int {
        if codeLength == 1 { return Int(codes.unsafeLoad(fromByteOffset: place, as: UInt8.self)) }
        return Int(UInt16(littleEndian: codes.unsafeLoadUnaligned(fromByteOffset: place * 2, as: UInt16.self)))
    }
}

/// The key of a column in the meta table: "column", the zone's entity and index, and the slot. Numbers are big-endian.
struct TextColumnKey: Hashable {
    let zone: ZoneKey
    let slot: Int

    init(_ zone: ZoneKey, slot: Int) { (self.zone, self.slot) = (zone, slot) }

    /// Returns nil if the bytes aren't the key of a column.
    init?(_ bytes: RawSpan) {
        let prefix = Self.prefix
        guard bytes.byteCount == prefix.count + 12, bytes.extracting(first: prefix.count).isEqual(to: prefix.span.bytes)
        else { return nil }
        zone = ZoneKey(numbersAt: prefix.count, of: bytes)
        slot = Int(
            UInt16(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: prefix.count + 10, as: UInt16.self)))
    }

    static let prefix = Array("column".utf8)

    /// The prefix of the keys of a zone's columns.
    static func prefix(of zone: ZoneKey) -> [UInt8] {
        var bytes = prefix
        zone.appendNumbers(to: &bytes)
        return bytes
    }

    var bytes: [UInt8] {
        var bytes = Self.prefix(of: zone)
        bytes.appendBigEndian(UInt16(truncatingIfNeeded: slot))
        return bytes
    }

    /// The key's checksum. The value's checksum is XORed with it, so that a column isn't accepted under another key.
    var checksum: UInt32 { bytes.span.bytes.checksum }

    /// The column's name in errors.
    var name: String { "the column of slot \(slot) in \(zone.name)" }
}
