internal import FetchIndexPlatform

/// A binary property list, read object by object: nothing is expanded, so shared references cost nothing, and nothing is
/// nested while it's read. All lengths and places are checked against the bytes.
///
///     "bplist00" | objects | offset of each object | trailer 32
///     object      marker 1: kind in the high half, length in the low half (15: an integer object with it follows) | content
///     trailer     6 unused | size of an offset, of a reference 1 each | objects, first object, offset of the offsets 8 each
///
/// All numbers have the highest byte first. Source: the comment at the beginning of CFBinaryPList.c
/// (github.com/swiftlang/swift-corelibs-foundation).
struct BinaryPropertyList {
    /// A reference to an object: its number.
    typealias Reference = Int

    enum Node {
        case null
        case flag(Bool)
        case integer(Int64)
        case real(Double)
        case text(String)
        case bytes([UInt8])
        /// A reference to an object of a keyed archive.
        case uid(Int)
        case array([Reference])
        case dictionary(keys: [Reference], values: [Reference])
    }

    private let bytes: [UInt8]
    private let offsetSize: Int
    private let referenceSize: Int
    private let count: Int
    private let offsets: Int
    /// The first object.
    let top: Reference

    /// Reads the trailer; nil if the bytes aren't a binary property list.
    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        let trailer = bytes.count - 32
        guard trailer >= 8, bytes.starts(with: "bplist0".utf8),
            let count = Self.number(in: bytes, at: trailer + 8, size: 8),
            let top = Self.number(in: bytes, at: trailer + 16, size: 8),
            let offsets = Self.number(in: bytes, at: trailer + 24, size: 8)
        else { return nil }
        (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
        (self.count, self.top, self.offsets) = (count, top, offsets)
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), top < count, offsets < trailer,
            count <= (trailer - offsets) / offsetSize
        else { return nil }
    }

    /// A number of 1 to 8 bytes; nil if it ends after the bytes or exceeds 63 bits.
    private static func number(in bytes: [UInt8], at offset: Int, size: Int) -> Int? {
        guard offset >= 0, offset <= bytes.count - size else { return nil }
        return Int(exactly: bytes[offset..<offset + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// An object; null if it's damaged or of another kind, such as a set.
    subscript(_ reference: Reference) -> Node {
        guard reference >= 0, reference < count,
            let offset = Self.number(in: bytes, at: offsets + reference * offsetSize, size: offsetSize),
            offset < bytes.count
        else { return .null }
        let (kind, low) = (bytes[offset] >> 4, Int(bytes[offset] & 15))
        switch kind {
        case 0: return low == 8 ? .flag(false) : low == 9 ? .flag(true) : .null
        case 1, 2, 8: return number(kind, at: offset + 1, low)
        default: break
        }
        guard let (length, start) = length(low, at: offset + 1) else { return .null }
        switch kind {
        case 4: return content(start, length).map { .bytes(Array($0)) } ?? .null
        case 5: return content(start, length).map { .text(String(decoding: $0, as: UTF8.self)) } ?? .null
        case 6:
            guard let units = content(start, length, 2) else { return .null }
            let pairs = stride(from: units.startIndex, to: units.endIndex, by: 2)
            return .text(String(decoding: pairs.map { UInt16(units[$0]) << 8 | UInt16(units[$0 + 1]) }, as: UTF16.self))
        case 10: return references(start, length).map { .array($0) } ?? .null
        case 13:
            // The keys come first.
            guard length <= count, let all = references(start, 2 * length) else { return .null }
            return .dictionary(keys: Array(all[..<length]), values: Array(all[length...]))
        default: return .null
        }
    }

    private func number(_ kind: UInt8, at start: Int, _ low: Int) -> Node {
        if kind == 8 { return Self.number(in: bytes, at: start, size: min(low + 1, 8)).map { .uid($0) } ?? .null }
        guard low <= 4, let content = content(start, 1 << low) else { return .null }
        // Only the last 8 of 16 bytes count: Foundation writes numbers beyond 64 bits alone in this form.
        let bits = content.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        switch (kind, low) {
        case (1, _): return .integer(Int64(bitPattern: bits))
        case (2, 2): return .real(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))))
        case (2, 3): return .real(Double(bitPattern: bits))
        default: return .null
        }
    }

    /// The length of an object, and the offset of its content.
    private func length(_ low: Int, at offset: Int) -> (length: Int, start: Int)? {
        if low < 15 { return (low, offset) }
        guard offset < bytes.count, bytes[offset] >> 4 == 1, bytes[offset] & 15 <= 3 else { return nil }
        let size = 1 << Int(bytes[offset] & 15)
        return Self.number(in: bytes, at: offset + 1, size: size).map { ($0, offset + 1 + size) }
    }

    private func content(_ start: Int, _ length: Int, _ unit: Int = 1) -> ArraySlice<UInt8>? {
        guard start <= bytes.count, length <= (bytes.count - start) / unit else { return nil }
        return bytes[start..<start + length * unit]
    }

    private func references(_ start: Int, _ length: Int) -> [Reference]? {
        guard content(start, length, referenceSize) != nil else { return nil }
        return (0..<length).map {
            Self.number(in: bytes, at: start + $0 * referenceSize, size: referenceSize) ?? count
        }
    }
}
