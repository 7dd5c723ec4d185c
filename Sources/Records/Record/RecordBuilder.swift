internal import FetchIndexEssentials
internal import FetchIndexPlatform
package import FetchIndexValues

/// Assembles a record from values in the order of their slots. One builder can assemble many records, one after the
/// other.
package struct RecordBuilder {
    /// The owner of the memory that `room` points to.
    private var memory: RecordMemory
    private var room: RecordMemory.Room
    /// The number of slots appended so far, including nulls.
    package private(set) var slotCount = 0
    private var byteCount = 0
    private var hasNulls = false
    /// Large values by ascending slots. They are empty in the memory for values, and copied once, when the record is
    /// finished.
    private var large: [(slot: Int, bytes: Data)] = []
    private static let largeLength = 1 << 20

    package init() { self.init(slots: 16, byteCount: 256) }

    /// A record without slots. An object with this record has the default values of its entity.
    package static let empty: [UInt8] = {
        var builder = RecordBuilder()
        return builder.finish()
    }()

    /// Creates a builder with memory for a record with this many slots and bytes of values.
    package init(slots: Int, byteCount: Int) {
        memory = RecordMemory(slots: slots, byteCount: byteCount)
        room = memory.room
    }

    /// Begins a new record and discards the previous one. Don't copy a builder between its first value and `finish`,
    /// because the copy would write to the same memory. A copy made after `finish` shares the memory until one of the
    /// two builders begins a record.
    package mutating func begin() {
        if !isKnownUniquelyReferenced(&memory) {
            memory = RecordMemory(slots: room.slots, byteCount: room.byteCount)
            room = memory.room
        }
        (slotCount, byteCount, hasNulls) = (0, 0, false)
        if !large.isEmpty { large = [] }
    }

    package mutating func appendNull() {
        endValue(isNull: true)
        hasNulls = true
    }

    package mutating func appendInteger(_ number: Int64) {
        // One bit is needed for the sign. Zero takes no bytes.
        let bits = Int64.bitWidth - (number ^ (number >> 63)).leadingZeroBitCount + 1
        append(UInt64(bitPattern: number), length: number == 0 ? 0 : (bits + 7) / 8)
    }

    package mutating func appendDouble(_ number: Double) { append(number.bitPattern, length: 8) }

    package mutating func appendBoolean(_ value: Bool) { append(value ? 1 : 0, length: 1) }

    /// Appends a value by its bytes, for example a string, or the text of a decimal.
    package mutating func appendBytes(_ bytes: RawSpan) { bytes.withUnsafeBytes { append($0) } }

    /// Appends the lowest `length` bytes of a number, in little-endian order.
    @inline(__always)
    private mutating func append(_ number: UInt64, length: Int) {
        // Storing all eight bytes costs less than storing only some.
        if room.byteCount - byteCount < 8 { makeRoom(slots: 0, byteCount: 8) }
        room.values.storeBytes(of: number.littleEndian, toByteOffset: byteCount, as: UInt64.self)
        byteCount += length
        endValue(isNull: false)
    }

    @inline(__always)
    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if let start = bytes.baseAddress {
            if room.byteCount - byteCount < bytes.count { makeRoom(slots: 0, byteCount: bytes.count) }
            (room.values + byteCount).copyMemory(from: start, byteCount: bytes.count)
            byteCount += bytes.count
        }
        endValue(isNull: false)
    }

    @inline(__always)
    private mutating func endValue(isNull: Bool) {
        assert(
            isKnownUniquelyReferenced(&memory),
            "A builder was copied within a record: a copy must call `begin` before it appends values.")
        if slotCount == room.slots { makeRoom(slots: 1, byteCount: 0) }
        room.ends[slotCount] = RecordMemory.End(offset: UInt32(truncatingIfNeeded: byteCount), isNull: isNull)
        slotCount += 1
    }

    /// Makes room for this many more slots and bytes of values. At least doubles the memory for slots if `slots` isn't
    /// 0, and the memory for values if `byteCount` isn't 0.
    @inline(never)
    private mutating func makeRoom(slots: Int, byteCount: Int) {
        let larger = RecordMemory(
            slots: room.slots + (slots == 0 ? 0 : max(slots, room.slots)),
            byteCount: room.byteCount + (byteCount == 0 ? 0 : max(byteCount, room.byteCount)))
        larger.room.ends.initialize(from: room.ends, count: slotCount)
        larger.room.values.copyMemory(from: room.values, byteCount: self.byteCount)
        memory = larger
        room = larger.room
    }

    package mutating func append(_ value: Value) {
        switch value {
        case .null: appendNull()
        case .boolean(let value): appendBoolean(value)
        case .integer(let value): appendInteger(value)
        case .double(let value): appendDouble(value)
        case .date(let value): appendDouble(value.timeIntervalSinceReferenceDate)
        case .string(let value): appendUTF8(value)
        case .url(let value): appendUTF8(value.absoluteString)
        case .decimal(let value): appendUTF8(value.description)
        case .data(let value):
            if value.count >= Self.largeLength {
                large.append((slotCount, value))
                append(UnsafeRawBufferPointer(start: nil, count: 0))
            } else {
                value.withUnsafeBytes { append($0) }
            }
        case .uuid(let value): withUnsafeBytes(of: value.uuid) { append($0) }
        }
    }

    private mutating func appendUTF8(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// The finished record.
    package func finish() -> [UInt8] {
        var record: [UInt8] = []
        finish(into: &record)
        return record
    }

    /// Appends the finished record. A record must have less than 4 GiB, like each value of LMDB.
    func finish(into finished: inout [UInt8]) {
        if !large.isEmpty { return finishLarge(into: &finished) }
        // If the closure used `self`, it would copy the builder.
        let (room, slotCount, byteCount, hasNulls) = (room, slotCount, byteCount, hasNulls)
        let width = byteCount < 1 << 8 ? 1 : byteCount < 1 << 16 ? 2 : 4
        let endsStart = RecordLayout.headerLength + RecordLayout.nullBitmapLength(slots: slotCount)
        let valuesStart = endsStart + width * slotCount
        let length = valuesStart + byteCount
        // The record is built in temporary memory and then appended. Appending zeros and overwriting them would cost
        // more.
        withUnsafeTemporaryAllocation(byteCount: length + RecordLayout.checksumLength, alignment: 8) { buffer in
            guard let record = buffer.baseAddress else { preconditionFailure("A record must have a header.") }
            record.storeBytes(of: UInt8(width), as: UInt8.self)
            record.storeBytes(of: UInt16(truncatingIfNeeded: slotCount).littleEndian, toByteOffset: 1, as: UInt16.self)
            room.writeNulls(of: slotCount, hasNulls, to: record + RecordLayout.headerLength)
            room.writeEnds(of: slotCount, width: width, to: record + endsStart)
            (record + valuesStart).copyMemory(from: room.values, byteCount: byteCount)
            let checksum = UnsafeRawBufferPointer(start: record, count: length).bytes.checksum
            record.storeBytes(of: checksum.littleEndian, toByteOffset: length, as: UInt32.self)
            finished.append(contentsOf: UnsafeRawBufferPointer(buffer))
        }
        withExtendedLifetime(memory) {}
    }

    /// Appends the finished record, whose large values are between the other ones.
    private func finishLarge(into finished: inout [UInt8]) {
        let start = finished.count
        finished.reserveCapacity(start + largeByteCount + byteCount + 8 * slotCount + RecordLayout.headerLength)
        forEachPiece { finished.append(contentsOf: $0) }
        let checksum = finished.span.bytes.extracting(start..<finished.count).checksum
        finished.appendNumber(checksum)
    }

    /// The length of the large values in bytes.
    var largeByteCount: Int { large.reduce(0) { $0 + $1.bytes.count } }

    /// Writes the finished record with its large values to a new temporary file, and maps it into memory. Throws
    /// `SystemError`.
    func finishInFile() throws -> TemporaryFile {
        let file = try TemporaryFile(inFolder: TemporaryFile.folder, prefix: "fetchindex-record")
        try forEachPiece(file.append)
        try file.mapIntoMemory()
        var checksum: [UInt8] = []
        checksum.appendNumber(file.bytes.checksum)
        try checksum.withUnsafeBytes(file.append)
        try file.mapIntoMemory()
        return file
    }

    /// Calls the body with the successive pieces of the finished record, but not with its checksum.
    private func forEachPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        let bitmapLength = RecordLayout.nullBitmapLength(slots: slotCount)
        var start: [UInt8] = [4]
        start.appendNumber(UInt16(truncatingIfNeeded: slotCount))
        withUnsafeTemporaryAllocation(byteCount: max(1, bitmapLength), alignment: 1) { buffer in
            guard let bitmap = buffer.baseAddress else { return }
            room.writeNulls(of: slotCount, hasNulls, to: bitmap)
            start.append(contentsOf: UnsafeRawBufferPointer(start: bitmap, count: bitmapLength))
        }
        var added = 0
        var rest = large[...]
        for slot in 0..<slotCount {
            if let first = rest.first, first.slot == slot {
                added += first.bytes.count
                rest.removeFirst()
            }
            start.appendNumber(UInt32(truncatingIfNeeded: Int(room.ends[slot].offset) + added))
        }
        try start.withUnsafeBytes(body)
        var copied = 0
        func copy(to end: Int) throws {
            try body(UnsafeRawBufferPointer(start: room.values + copied, count: end - copied))
            copied = end
        }
        for (slot, bytes) in large {
            try copy(to: Int(room.ends[slot].offset))
            try bytes.withUnsafeBytes(body)
        }
        try copy(to: byteCount)
        withExtendedLifetime(memory) {}
    }

    /// Forgets the large values of the finished record.
    mutating func releaseLarge() { if !large.isEmpty { large = [] } }
}

extension RecordMemory.Room {
    /// Writes the bitmap that marks the slots whose values are null.
    fileprivate func writeNulls(of slots: Int, _ hasNulls: Bool, to bitmap: UnsafeMutableRawPointer) {
        bitmap.initializeMemory(as: UInt8.self, repeating: 0, count: RecordLayout.nullBitmapLength(slots: slots))
        if !hasNulls { return }
        for slot in 0..<slots where ends[slot].isNull {
            let byte = bitmap.load(fromByteOffset: slot >> 3, as: UInt8.self)
            bitmap.storeBytes(of: byte | 1 << UInt8(slot & 7), toByteOffset: slot >> 3, as: UInt8.self)
        }
    }

    fileprivate func writeEnds(of slots: Int, width: Int, to place: UnsafeMutableRawPointer) {
        // Each width has its own loop.
        switch width {
        case 1:
            for slot in 0..<slots {
                let offset = UInt8(truncatingIfNeeded: ends[slot].offset)
                place.storeBytes(of: offset, toByteOffset: slot, as: UInt8.self)
            }
        case 2:
            for slot in 0..<slots {
                let offset = UInt16(truncatingIfNeeded: ends[slot].offset).littleEndian
                place.storeBytes(of: offset, toByteOffset: 2 * slot, as: UInt16.self)
            }
        default:
            for slot in 0..<slots {
                place.storeBytes(of: ends[slot].offset.littleEndian, toByteOffset: 4 * slot, as: UInt32.self)
            }
        }
    }
}
