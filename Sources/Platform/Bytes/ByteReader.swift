/// Reads numbers and texts from bytes, one after the other. Throws if too few bytes are left.
@usableFromInline
package struct ByteReader: ~Escapable {
    @usableFromInline package let bytes: RawSpan
    @usableFromInline let subject: () -> String
    @usableFromInline let damage: (String) -> any Error
    @usableFromInline package internal(set) var offset = 0

    /// `subject` names the bytes in error messages; `damage` makes an error from a sentence.
    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan, subject: @escaping () -> String, damage: @escaping (String) -> any Error) {
        self.bytes = bytes
        self.subject = subject
        self.damage = damage
    }

    /// Creates a reader of the bytes before a checksum. Throws unless the last four bytes are the checksum of the bytes
    /// before them, XORed with `other`.
    @_lifetime(copy bytes)
    package init(
        checked bytes: RawSpan, with other: UInt32 = 0, subject: @escaping () -> String,
        damage: @escaping (String) -> any Error
    ) throws {
        guard bytes.byteCount >= 4 else { throw damage("\(subject()) is too short") }
        guard bytes.endsWithChecksum(mixedWith: other) else {
            throw damage("\(subject()) does not match its checksum")
        }
        self.init(bytes.extracting(first: bytes.byteCount - 4), subject: subject, damage: damage)
    }

    @inlinable
    package var isAtEnd: Bool { offset == bytes.byteCount }

    @inlinable
    package mutating func uint8() throws -> UInt8 { UInt8(truncatingIfNeeded: try number(1)) }
    @inlinable
    package mutating func uint16() throws -> UInt16 { UInt16(truncatingIfNeeded: try number(2)) }
    @inlinable
    package mutating func uint32() throws -> UInt32 { UInt32(truncatingIfNeeded: try number(4)) }
    @inlinable
    package mutating func uint64() throws -> UInt64 { try number(8) }

    /// Reads the remaining bytes as a little-endian number whose high zero bytes were left out.
    @inlinable
    package mutating func numberToEnd() throws -> UInt64 {
        guard bytes.byteCount - offset <= 8 else { throw damage("\(subject()) is too long") }
        return try number(bytes.byteCount - offset)
    }

    @inlinable
    mutating func number(_ length: Int) throws -> UInt64 {
        let start = try skip(length)
        var number: UInt64 = 0
        for offset in (start..<start + length).reversed() {
            number = number << 8 | UInt64(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
        }
        return number
    }

    @inlinable
    @inline(__always)
    package mutating func varint() throws -> UInt64 {
        // Most varints have one or two bytes.
        if bytes.byteCount - offset >= 2 {
            let pair = bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self).littleEndian
            if pair & 0x80 == 0 {
                offset += 1
                return UInt64(pair & 0x7F)
            }
            if pair & 0x8000 == 0 {
                offset += 2
                return UInt64(pair & 0x7F | (pair >> 1) & 0x3F80)
            }
        }
        return try longVarint()
    }

    @usableFromInline
    @inline(never)
    mutating func longVarint() throws -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let start = try skip(1)
            let byte = bytes.unsafeLoad(fromByteOffset: start, as: UInt8.self)
            guard shift < 64 else { throw damage("\(subject()) has a number that is too large") }
            number |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return number }
            shift += 7
        }
    }

    /// Reads a varint that counts elements. Throws if it exceeds the number of remaining bytes: otherwise a damaged
    /// count could cause a huge allocation.
    @inlinable
    package mutating func count() throws -> Int {
        let number = try varint()
        guard number <= bytes.byteCount - offset else { throw damage("\(subject()) ends too soon") }
        return Int(number)
    }

    @inlinable
    package mutating func text() throws -> String {
        let length = try count()
        let start = try skip(length)
        let text = bytes.extracting(start..<start + length).withUnsafeBytes { String(validating: $0, as: UTF8.self) }
        guard let text else { throw damage("\(subject()) has text that is not UTF-8") }
        return text
    }

    /// Skips the next `length` bytes and returns their range.
    @inlinable
    package mutating func range(_ length: Int) throws -> Range<Int> {
        let start = try skip(length)
        return start..<start + length
    }

    @inlinable
    mutating func skip(_ length: Int) throws -> Int {
        guard length >= 0, length <= bytes.byteCount - offset else {
            throw damage("\(subject()) ends too soon")
        }
        defer { offset += length }
        return offset
    }
}
