internal import FetchIndexPlatform
/// A branch or leaf page as LMDB writes it. Call `headerDefect` and `nodeDefect` before anything else: the other accessors
/// do not validate.
///
///     page number 8 | pad 2 | flags 2 | lower 2 | upper 2 | offset of each node 2 | free room | nodes
///
///     branch node   child's number 6 | key length 2 | key                     the first node's key is unused
///     leaf node     value length 4 | flags 2 | key length 2 | key | value, or the number of its overflow page 8
///
/// An overflow page has the length of its run, in 4 bytes, in the place of lower and upper; the rest of the run has no
/// header.
struct PageView {
    enum Kind: UInt16 {
        case branch = 1
        case leaf = 2
        case overflow = 4

        var name: String { "\(self) page" }
    }

    static let headerLength = 16
    private static let nodeHeaderLength = 8
    private static let overflowFlag: UInt16 = 1
    private static let tableFlag: UInt16 = 2

    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as: Number.Type) -> Number {
        bytes.span.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Number.self)
    }

    var pageNumber: PageNumber { number(at: 0, as: UInt64.self) }
    var flags: UInt16 { number(at: 10, as: UInt16.self) }
    var overflowCount: UInt32 { number(at: 12, as: UInt32.self) }
    private var lower: Int { Int(number(at: 12, as: UInt16.self)) }
    private var upper: Int { Int(number(at: 14, as: UInt16.self)) }
    var nodeCount: Int { (lower - Self.headerLength) / 2 }

    /// The defect of the number and kind in the header, or nil.
    func headerDefect(_ wanted: PageNumber, _ kind: Kind) -> String? {
        guard bytes.count >= Self.headerLength else { return "is missing" }
        if pageNumber != wanted { return "says that it is page \(pageNumber)" }
        return flags == kind.rawValue ? nil : "should be a \(kind.name) and has the flags \(flags)"
    }

    /// The defect of the nodes' places; nil if all nodes can be read.
    func nodeDefect(isLeaf: Bool) -> String? {
        guard lower >= Self.headerLength, lower % 2 == 0, lower <= upper, upper <= bytes.count else {
            return "has an invalid range of free space, \(lower) to \(upper)"
        }
        var extents: [(start: Int, end: Int)] = []
        extents.reserveCapacity(nodeCount)
        for index in 0..<nodeCount {
            let start = offset(of: index)
            guard start >= upper, start % 2 == 0, start + Self.nodeHeaderLength <= bytes.count else {
                return "has node \(index) at \(start)"
            }
            let end = start + Self.nodeHeaderLength + keyLength(at: start) + (isLeaf ? storedLength(at: start) : 0)
            guard end <= bytes.count else { return "has a node \(index) that extends past its end" }
            extents.append((start, end))
        }
        extents.sort { $0.start < $1.start }
        for index in extents.indices.dropFirst() where extents[index].start < extents[index - 1].end {
            return "has nodes that overlap at \(extents[index].start)"
        }
        return nil
    }

    private func offset(of index: Int) -> Int { Int(number(at: Self.headerLength + 2 * index, as: UInt16.self)) }
    private func keyLength(at start: Int) -> Int { Int(number(at: start + 6, as: UInt16.self)) }
    private func nodeFlags(at start: Int) -> UInt16 { number(at: start + 4, as: UInt16.self) }
    private func valueLength(at start: Int) -> Int { Int(number(at: start, as: UInt32.self)) }

    /// The number of bytes that a value takes in its leaf.
    private func storedLength(at start: Int) -> Int {
        nodeFlags(at: start) & Self.overflowFlag == 0 ? valueLength(at: start) : 8
    }

    // MARK: Nodes of a page whose places are right

    func key(_ index: Int) -> Range<Int> {
        let start = offset(of: index)
        return start + Self.nodeHeaderLength..<start + Self.nodeHeaderLength + keyLength(at: start)
    }

    func child(_ index: Int) -> PageNumber {
        let start = offset(of: index)
        return UInt64(number(at: start, as: UInt32.self)) | UInt64(nodeFlags(at: start)) << 32
    }

    func bytes(_ range: Range<Int>) -> [UInt8] { Array(bytes[range]) }

    /// The place of the value of a leaf's node.
    enum Value {
        case here(Range<Int>)
        case table(Range<Int>)
        case overflow(page: PageNumber, byteCount: Int)
        case unknown(flags: UInt16)
    }

    func value(_ index: Int) -> Value {
        let start = offset(of: index)
        let valueStart = key(index).upperBound
        switch nodeFlags(at: start) {
        case 0: return .here(valueStart..<valueStart + valueLength(at: start))
        case Self.tableFlag: return .table(valueStart..<valueStart + valueLength(at: start))
        case Self.overflowFlag:
            return .overflow(page: number(at: valueStart, as: UInt64.self), byteCount: valueLength(at: start))
        case let flags: return .unknown(flags: flags)
        }
    }

    // MARK: The order of keys

    /// Whether one key is less than another. Integer keys must have eight bytes.
    func isKey(_ left: Range<Int>, before right: Range<Int>, _ keys: KeyKind) -> Bool {
        bytes.withUnsafeBytes { bytes in
            Self.isKey(.init(rebasing: bytes[left]), before: .init(rebasing: bytes[right]), keys)
        }
    }

    func isKey(_ left: Range<Int>, before right: [UInt8], _ keys: KeyKind) -> Bool {
        bytes.withUnsafeBytes { bytes in
            right.withUnsafeBytes { Self.isKey(.init(rebasing: bytes[left]), before: $0, keys) }
        }
    }

    /// Whether a byte key is less than the given one, or equal.
    func isKey(_ left: Range<Int>, notAfter right: [UInt8]) -> Bool {
        bytes(left) == right || isKey(left, before: right, .bytes)
    }

    private static func isKey(
        _ left: UnsafeRawBufferPointer, before right: UnsafeRawBufferPointer, _ keys: KeyKind
    ) -> Bool {
        switch keys {
        case .integers: return left.loadUnaligned(as: UInt64.self) < right.loadUnaligned(as: UInt64.self)
        case .bytes: return left.bytes.compare(right.bytes) < 0
        }
    }
}
