internal import FetchIndexPlatform
/// A copy of a branch or leaf page, or of an overflow page's header (see `Page` for their layout). Call `headerDefect`
/// and, for a branch or leaf, `nodeDefect` before anything else: the other accessors don't validate.
struct PageView {
    private let bytes: [UInt8]
    private let layout: PageLayout

    init(_ bytes: [UInt8], _ layout: PageLayout) {
        self.bytes = bytes
        self.layout = layout
    }

    private func read<Result>(_ body: (Page) -> Result) -> Result {
        bytes.withUnsafeBytes { body(Page(bytes: $0, layout: layout)) }
    }

    var pageNumber: PageNumber { read(\.number) }
    var transaction: UInt64? { read(\.transaction) }
    var overflowCount: UInt32 { read(\.overflowCount) }
    var nodeCount: Int { read(\.nodeCount) }

    /// The defect of the page number, the kind and the transaction in the header; nil if none is found. A page of the
    /// state that a transaction committed isn't written by a later one.
    func headerDefect(_ wanted: PageNumber, _ kind: Page.Kind, committedBy last: UInt64) -> String? {
        guard bytes.count >= layout.headerLength else { return "is missing" }
        if pageNumber != wanted { return "says that it is page \(pageNumber)" }
        if let transaction, transaction > last {
            return "says that transaction \(transaction) wrote it, which is later than the checked state"
        }
        let flags = read(\.flags)
        return flags == kind.rawValue ? nil : "is not the expected \(kind.name): it has the flags \(flags)"
    }

    /// The defect of the nodes' offsets and lengths; nil if all nodes can be read.
    func nodeDefect(isLeaf: Bool) -> String? { read { Self.nodeDefect($0, isLeaf: isLeaf) } }

    private static func nodeDefect(_ page: Page, isLeaf: Bool) -> String? {
        let (lower, upper, length) = (page.lower, page.upper, page.bytes.count)
        guard lower >= page.layout.headerLength, lower % 2 == 0, lower <= upper, upper <= length else {
            return "has invalid bounds of its free space, \(lower) and \(upper)"
        }
        var extents: [(start: Int, end: Int)] = []
        extents.reserveCapacity(page.nodeCount)
        for index in 0..<page.nodeCount {
            let start = page.offset(of: index)
            guard start >= upper, start % 2 == 0, start + Page.Node.headerLength <= length else {
                return "has node \(index) at the invalid offset \(start)"
            }
            let node = page.node(at: start)
            let end = isLeaf ? node.valueOffset + node.storedLength : node.keyOffset + node.keyLength
            guard end <= length else { return "has a node \(index) that extends past its end" }
            extents.append((start, end))
        }
        extents.sort { $0.start < $1.start }
        for index in extents.indices.dropFirst() where extents[index].start < extents[index - 1].end {
            return "has nodes that overlap at \(extents[index].start)"
        }
        return nil
    }

    // MARK: Nodes of a page without defects

    func key(_ index: Int) -> Range<Int> {
        read {
            let node = $0.node(index)
            return node.keyOffset..<node.keyOffset + node.keyLength
        }
    }

    func child(_ index: Int) -> PageNumber { read { $0.node(index).child } }

    func bytes(_ range: Range<Int>) -> [UInt8] { Array(bytes[range]) }

    /// The location of a leaf node's value.
    enum Value {
        case here(Range<Int>)
        case table(Range<Int>)
        case overflow(OverflowRun, byteCount: Int)
        case unknown(flags: UInt16)
    }

    func value(_ index: Int) -> Value {
        read {
            let node = $0.node(index)
            let range = node.valueOffset..<node.valueOffset + node.valueLength
            switch node.flags {
            case 0: return .here(range)
            case Page.Node.tableFlag: return .table(range)
            case Page.Node.overflowFlag: return .overflow(node.overflowRun, byteCount: node.valueLength)
            case let flags: return .unknown(flags: flags)
            }
        }
    }

    // MARK: The order of keys

    /// Whether one key of the page is less than another. Integer keys must have eight bytes.
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

    /// Whether a byte key of the page is less than a given key, or equal.
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
