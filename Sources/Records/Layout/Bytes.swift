internal import CXXHash
#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension RawSpan {
    /// The checksum of stored bytes: the low half of XXH3-64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
    package var checksum: UInt32 {
        withUnsafeBytes { UInt32(truncatingIfNeeded: fi_xxh3($0.baseAddress, $0.count)) }
    }

    /// Whether bytes end with their checksum, mixed with another one.
    @inline(__always)
    package func endsWithChecksum(mixedWith other: UInt32 = 0) -> Bool {
        let end = byteCount - Self.checksumLength
        guard end >= 0 else { return false }
        let stored = unsafeLoadUnaligned(fromByteOffset: end, as: UInt32.self)
        return UInt32(littleEndian: stored) == extracting(first: end).checksum ^ other
    }

    private static var checksumLength: Int { 4 }

    package func isEqual(to other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        return withUnsafeBytes { left in
            other.withUnsafeBytes { right in
                guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return true }
                return memcmp(leftBase, rightBase, left.count) == 0
            }
        }
    }
}

extension [UInt8] {
    package init(copying bytes: RawSpan) { self = bytes.withUnsafeBytes { [UInt8]($0) } }

    package mutating func appendBytes(_ bytes: RawSpan) { bytes.withUnsafeBytes { append(contentsOf: $0) } }

    package mutating func appendNumber<Number: FixedWidthInteger>(_ number: Number) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    package mutating func appendBigEndian<Number: FixedWidthInteger>(_ number: Number) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    /// LEB128.
    package mutating func appendVarint(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    package mutating func appendText(_ text: String) {
        appendVarint(UInt64(text.utf8.count))
        append(contentsOf: text.utf8)
    }

    /// What is stored with the bytes may have a checksum of its own that is mixed in.
    package mutating func appendChecksum(with other: UInt32 = 0) {
        let checksum = withUnsafeBytes { $0.bytes.checksum }
        appendNumber(checksum ^ other)
    }
}

/// Reads numbers and texts one after the other. Bytes that end too soon throw.
package struct ByteReader: ~Escapable {
    private let bytes: RawSpan
    private let subject: String
    package private(set) var offset = 0

    /// `subject` names what is read, for errors.
    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan, _ subject: String) {
        self.bytes = bytes
        self.subject = subject
    }

    /// Reads bytes that end with their checksum, mixed with another one, which must agree.
    @_lifetime(copy bytes)
    package init(checked bytes: RawSpan, with other: UInt32 = 0, _ subject: String) throws {
        guard bytes.byteCount >= 4 else { throw StoreError.corrupted("\(subject) is too short") }
        guard bytes.endsWithChecksum(mixedWith: other) else {
            throw StoreError.corrupted("\(subject) does not match its checksum")
        }
        self.init(bytes.extracting(first: bytes.byteCount - 4), subject)
    }

    package var isAtEnd: Bool { offset == bytes.byteCount }

    package mutating func uint8() throws -> UInt8 { UInt8(truncatingIfNeeded: try number(1)) }
    package mutating func uint16() throws -> UInt16 { UInt16(truncatingIfNeeded: try number(2)) }
    package mutating func uint32() throws -> UInt32 { UInt32(truncatingIfNeeded: try number(4)) }
    package mutating func uint64() throws -> UInt64 { try number(8) }

    private mutating func number(_ length: Int) throws -> UInt64 {
        let start = try advance(by: length)
        var number: UInt64 = 0
        for offset in (start..<start + length).reversed() {
            number = number << 8 | UInt64(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
        }
        return number
    }

    package mutating func varint() throws -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let start = try advance(by: 1)
            let byte = bytes.unsafeLoad(fromByteOffset: start, as: UInt8.self)
            guard shift < 64 else { throw StoreError.corrupted("\(subject) has a number that is too large") }
            number |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return number }
            shift += 7
        }
    }

    /// A varint that counts things in memory: no more than the bytes that are left.
    package mutating func count() throws -> Int {
        let number = try varint()
        guard number <= bytes.byteCount - offset else { throw StoreError.corrupted("\(subject) ends too soon") }
        return Int(number)
    }

    package mutating func text() throws -> String {
        let length = try count()
        let start = try advance(by: length)
        let text = bytes.extracting(start..<start + length).withUnsafeBytes { String(validating: $0, as: UTF8.self) }
        guard let text else { throw StoreError.corrupted("\(subject) has text that is not UTF-8") }
        return text
    }

    /// The range of the next bytes, which are skipped.
    package mutating func range(_ length: Int) throws -> Range<Int> {
        let start = try advance(by: length)
        return start..<start + length
    }

    private mutating func advance(by length: Int) throws -> Int {
        guard length >= 0, length <= bytes.byteCount - offset else {
            throw StoreError.corrupted("\(subject) ends too soon")
        }
        defer { offset += length }
        return offset
    }
}
