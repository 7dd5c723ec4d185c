internal import FetchIndexEssentials
internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexValues

/// A shortened sort key of a value: bytes that sort like the values of its type, cut or padded with zero bytes to 32
/// bytes, as four big-endian numbers. A greater value doesn't have a lesser bound key, but different values may have
/// the same one.
struct BoundKey: Comparable {
    static let length = 32
    static let least = BoundKey()
    static let greatest = BoundKey(.max, .max, .max, .max)

    private var first: UInt64 = 0
    private var second: UInt64 = 0
    private var third: UInt64 = 0
    private var fourth: UInt64 = 0

    init(_ first: UInt64 = 0, _ second: UInt64 = 0, _ third: UInt64 = 0, _ fourth: UInt64 = 0) {
        (self.first, self.second, self.third, self.fourth) = (first, second, third, fourth)
    }

    @inline(__always)
    init(_ integer: Int64) { first = UInt64(bitPattern: integer) ^ (1 << 63) }

    /// The key of a double, or of the seconds of a date.
    @inline(__always)
    init(_ double: Double) { first = OrderKey.orderBits(of: double) }

    @inline(__always)
    init(_ bytes: RawSpan) {
        first = Self.number(at: 0, in: bytes)
        if bytes.byteCount <= 8 { return }
        second = Self.number(at: 8, in: bytes)
        third = Self.number(at: 16, in: bytes)
        fourth = Self.number(at: 24, in: bytes)
    }

    /// Eight bytes of `bytes` as a big-endian number. Bytes after the end count as zero.
    @inline(__always)
    private static func number(at offset: Int, in bytes: RawSpan) -> UInt64 {
        let rest = bytes.byteCount &- offset
        if rest >= 8 { return UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
        if rest <= 0 { return 0 }
        if bytes.byteCount >= 8 {
            let last = bytes.unsafeLoadUnaligned(fromByteOffset: bytes.byteCount &- 8, as: UInt64.self)
            return UInt64(bigEndian: last) << UInt64(truncatingIfNeeded: 64 &- 8 &* rest)
        }
        var number: UInt64 = 0
        for index in 0..<rest { number = number << 8 | UInt64(bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)) }
        return number << UInt64(truncatingIfNeeded: 64 &- 8 &* rest)
    }

    /// The key of a value; nil for null, and for decimals, which have no keys.
    init?(_ value: Value) {
        switch value {
        case .boolean(let value): self.init(Int64(value ? 1 : 0))
        case .integer(let value): self.init(value)
        case .double(let value): self.init(value)
        case .date(let value): self.init(value.timeIntervalSinceReferenceDate)
        case .string(let value): self.init(Array(value.utf8).span.bytes)
        case .data(let value): self.init(Array(value).span.bytes)
        case .url(let value): self.init(Array(value.absoluteString.utf8).span.bytes)
        case .uuid(let value): self = withUnsafeBytes(of: value.uuid) { BoundKey($0.bytes) }
        case .null, .decimal: return nil
        }
    }

    /// The key of a value in a record; nil for a decimal, which has no key.
    @inline(__always)
    init?(_ range: Range<Int>, of record: borrowing RecordView, as type: ValueType) throws {
        switch type {
        case .integer: self.init(try record.integer(range))
        case .double, .date: self.init(try record.double(range))
        case .string, .data, .url, .uuid: self.init(record.bytes(range))
        case .boolean: self.init(Int64(try record.boolean(range) ? 1 : 0))
        case .decimal: return nil
        }
    }

    /// Whether a value's key is between two keys, if its first eight bytes already show that. Returns false if they
    /// don't, and for types other than text, URL and integer.
    @inline(__always)
    static func isSurely(
        _ range: Range<Int>, of record: borrowing RecordView, as type: ValueType, between least: BoundKey,
        and greatest: BoundKey
    ) -> Bool {
        let first: UInt64
        switch type {
        case .string, .url: first = number(at: 0, in: record.bytes(range))
        case .integer:
            guard let integer = try? record.integer(range) else { return false }
            first = BoundKey(integer).first
        default: return false
        }
        return least.first < first && first < greatest.first
    }

    @inline(__always)
    static func < (left: BoundKey, right: BoundKey) -> Bool {
        if left.first != right.first { return left.first < right.first }
        if left.second != right.second { return left.second < right.second }
        if left.third != right.third { return left.third < right.third }
        return left.fourth < right.fourth
    }

    // MARK: Bytes

    /// The key's bytes without trailing zero bytes.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for number in [first, second, third, fourth] { bytes.appendBigEndian(number) }
        while bytes.last == 0 { bytes.removeLast() }
        return bytes
    }

    /// A key with the first `count` bytes of this one, followed by bytes of 255.
    func filled(after count: Int) -> BoundKey {
        var bytes = Array((bytes + [UInt8](repeating: 0, count: Self.length)).prefix(min(count, Self.length)))
        bytes += [UInt8](repeating: 255, count: Self.length - bytes.count)
        return BoundKey(bytes.span.bytes)
    }
}
