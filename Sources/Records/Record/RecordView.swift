internal import FetchIndexEssentials
internal import FetchIndexPlatform
package import FetchIndexModels
package import FetchIndexValues

/// Reads values of a record without copying the record. Reading a value costs O(its length), independently of the
/// record's other values. Offsets in the record are checked before they are used.
@usableFromInline
package struct RecordView: ~Escapable {
    @usableFromInline let bytes: RawSpan
    /// A record with the values of the slots that this record lacks. If it's empty, these values are null. Ranges of
    /// its values begin after the end of `bytes`.
    @usableFromInline let missing: RawSpan
    @usableFromInline let width: Int
    @usableFromInline package let slotCount: Int
    // Don't add fields: the compiler copies and destroys larger structs by calls, which makes scans measurably slower.

    /// A view of a record of an entity. If the record lacks slots, their values come from the entity's `missingValues`.
    @_lifetime(copy bytes, borrow entity)
    package init(_ bytes: RawSpan, of entity: borrowing Entity) throws {
        try self.init(bytes, missing: entity.missingValues.span.bytes)
    }

    /// A view of a record without its entity. If the record lacks slots, their values are null.
    @inlinable
    @inline(__always)
    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan) throws { try self.init(bytes, missing: RawSpan()) }

    // This is inlined in scans, so that the fields stay in registers.
    @inlinable
    @inline(__always)
    @_lifetime(copy bytes, copy missing)
    package init(_ bytes: RawSpan, missing: RawSpan) throws {
        guard bytes.byteCount >= RecordLayout.headerLength + RecordLayout.checksumLength else {
            throw Self.tooShort
        }
        self.bytes = bytes
        self.missing = missing
        width = Int(bytes.unsafeLoad(as: UInt8.self))
        slotCount = Int(UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 1, as: UInt16.self)))
        guard width == 1 || width == 2 || width == 4, valuesStart <= bytes.byteCount - RecordLayout.checksumLength
        else { throw Self.wrongHeader }
    }

    @usableFromInline static var tooShort: StoreError { .corrupted("a record is too short") }
    @usableFromInline static var wrongHeader: StoreError { .corrupted("a record's header is invalid") }

    @usableFromInline
    static func outside(_ slot: Int) -> StoreError { .corrupted("slot \(slot) of a record has an invalid range") }

    /// The offset of the table with the ends of the values.
    @inlinable
    var endsStart: Int { RecordLayout.headerLength + RecordLayout.nullBitmapLength(slots: slotCount) }
    @inlinable
    var valuesStart: Int { endsStart &+ width &* slotCount }
    @inlinable
    var valuesEnd: Int { bytes.byteCount - RecordLayout.checksumLength }

    /// The range of a slot's value, to be passed to `bytes(_:)`; nil if the value is null.
    @inlinable
    @inline(__always)
    package func range(of slot: Int) throws -> Range<Int>? {
        guard slot < slotCount else { return try rangeOfMissing(slot) }
        let nulls = bytes.unsafeLoad(fromByteOffset: RecordLayout.headerLength &+ slot >> 3, as: UInt8.self)
        if nulls >> UInt8(truncatingIfNeeded: slot & 7) & 1 != 0 { return nil }
        let start = valuesStart &+ (slot == 0 ? 0 : end(of: slot &- 1))
        let end = valuesStart &+ end(of: slot)
        guard start <= end, end <= valuesEnd else { throw Self.outside(slot) }
        return start..<end
    }

    @inline(never)
    @usableFromInline
    func rangeOfMissing(_ slot: Int) throws -> Range<Int>? {
        if missing.isEmpty { return nil }
        guard let range = try missingValues.range(of: slot) else { return nil }
        return range.lowerBound + bytes.byteCount..<range.upperBound + bytes.byteCount
    }

    private var missingValues: RecordView {
        @_lifetime(copy self)
        get throws { try RecordView(missing) }
    }

    @inlinable
    @inline(__always)
    func isMissing(_ range: Range<Int>) -> Bool { range.lowerBound >= bytes.byteCount }

    @inlinable
    func inMissing(_ range: Range<Int>) -> Range<Int> {
        range.lowerBound - bytes.byteCount..<range.upperBound - bytes.byteCount
    }

    @inlinable
    @inline(__always)
    func end(of slot: Int) -> Int {
        let offset = endsStart &+ width &* slot
        switch width {
        case 1: return Int(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
        case 2: return Int(UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self)))
        default: return Int(UInt32(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)))
        }
    }

    /// A copy of the record's bytes.
    package func copy() -> [UInt8] { [UInt8](copying: bytes) }

    @_lifetime(copy self)
    @inlinable
    @inline(__always)
    package func bytes(_ range: Range<Int>) -> RawSpan {
        isMissing(range) ? missing.extracting(inMissing(range)) : bytes.extracting(range)
    }

    /// Whether another record of the same entity has the same bytes in a slot, or null like this one.
    func isEqual(to other: borrowing RecordView, at slot: Int) throws -> Bool {
        guard let range = try range(of: slot), let otherRange = try other.range(of: slot) else {
            return try self.range(of: slot) == nil && other.range(of: slot) == nil
        }
        return bytes(range).isEqual(to: other.bytes(otherRange))
    }

    /// Whether another record of an entity has the same values, although its bytes may differ: it may lack slots that
    /// were added later, or have values in slots that were removed.
    func hasSameValues(as other: borrowing RecordView, of entity: borrowing Entity) throws -> Bool {
        if bytes.isEqual(to: other.bytes) { return true }
        if slotCount == other.slotCount && !entity.slots.contains(where: \.isRemoved) { return false }
        for slot in entity.slots.indices where !entity.slots[slot].isRemoved {
            if try !isEqual(to: other, at: slot) { return false }
        }
        return true
    }

    @inline(__always)
    package func integer(_ range: Range<Int>) throws -> Int64 {
        try isMissing(range) ? Self.integer(inMissing(range), of: missing) : Self.integer(range, of: bytes)
    }

    @inline(__always)
    private static func integer(_ range: Range<Int>, of bytes: RawSpan) throws -> Int64 {
        guard range.count <= 8 else { throw StoreError.corrupted("an integer has \(range.count) bytes") }
        guard !range.isEmpty else { return 0 }
        let unused = UInt64(64 - 8 * range.count)
        if range.lowerBound + 8 <= bytes.byteCount {
            let number = bytes.unsafeLoadUnaligned(fromByteOffset: range.lowerBound, as: UInt64.self)
            return Int64(bitPattern: UInt64(littleEndian: number) << unused) >> Int64(unused)
        }
        var number: UInt64 = 0
        for offset in range.reversed() {
            number = number << 8 | UInt64(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
        }
        return Int64(bitPattern: number << unused) >> Int64(unused)
    }

    package func double(_ range: Range<Int>) throws -> Double {
        if isMissing(range) { return try missingValues.double(inMissing(range)) }
        guard range.count == 8 else { throw StoreError.corrupted("a double has \(range.count) bytes") }
        let bits = bytes.unsafeLoadUnaligned(fromByteOffset: range.lowerBound, as: UInt64.self)
        return Double(bitPattern: UInt64(littleEndian: bits))
    }

    package func boolean(_ range: Range<Int>) throws -> Bool {
        if isMissing(range) { return try missingValues.boolean(inMissing(range)) }
        guard range.count == 1 else { throw StoreError.corrupted("a boolean has \(range.count) bytes") }
        return bytes.unsafeLoad(fromByteOffset: range.lowerBound, as: UInt8.self) != 0
    }

    /// The integer in a slot of type integer; nil if it's null.
    @inline(__always)
    package func integer(at slot: Int) throws -> Int64? {
        guard let range = try range(of: slot) else { return nil }
        return try integer(range)
    }

    /// The double in a slot of type double or date; nil if it's null.
    package func double(at slot: Int) throws -> Double? {
        guard let range = try range(of: slot) else { return nil }
        return try double(range)
    }

    /// Decodes a text. Bytes that aren't UTF-8 become replacement characters; if that changes the length, throws. This
    /// finds most wrong texts, not all, but is several times faster than `String(validating:)`.
    private func text(_ range: Range<Int>) throws -> String {
        let text = bytes(range).withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { String(decoding: $0, as: UTF8.self) }
        }
        guard text.utf8.count == range.count else { throw StoreError.corrupted("a text is not UTF-8") }
        return text
    }

    /// The value in a slot. `type` is the type of the slot's attribute.
    package func value(at slot: Int, as type: ValueType) throws -> Value {
        guard let range = try range(of: slot) else { return .null }
        switch type {
        case .boolean: return .boolean(try boolean(range))
        case .integer: return .integer(try integer(range))
        case .double: return .double(try double(range))
        case .date: return .date(Date(timeIntervalSinceReferenceDate: try double(range)))
        case .string: return .string(try text(range))
        case .data: return .data(bytes(range).withUnsafeBytes { Data($0) })
        case .uuid:
            guard let uuid = UUID(copying: bytes(range)) else {
                throw StoreError.corrupted("a UUID has \(range.count) bytes")
            }
            return .uuid(uuid)
        case .url:
            guard let url = URL(string: try text(range)) else { throw StoreError.corrupted("a URL cannot be read") }
            return .url(url)
        case .decimal:
            guard let decimal = Decimal(string: try text(range)) else {
                throw StoreError.corrupted("a decimal cannot be read")
            }
            return .decimal(decimal)
        }
    }

    package var matchesChecksum: Bool { bytes.endsWithChecksum() }

    /// The defects of the record's checksum, number of slots and attributes, one sentence each. `LinkCheck` checks
    /// references.
    package func check(as entity: Entity) -> [String] {
        var defects: [String] = []
        if !matchesChecksum { defects.append("it does not match its checksum") }
        if slotCount > entity.slots.count {
            defects.append("it has \(slotCount) slots, but its entity has \(entity.slots.count)")
        }
        for (slot, attribute) in zip(entity.attributeSlots, entity.attributes) {
            do {
                let value = try value(at: slot, as: attribute.type)
                if value.isNull && !attribute.isOptional { defects.append("\(attribute.name) is required, but null") }
            } catch {
                defects.append("\(attribute.name): \(error)")
            }
        }
        return defects
    }
}
