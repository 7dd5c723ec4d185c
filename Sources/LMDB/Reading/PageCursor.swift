internal import FetchIndexPlatform

/// A position in a tree of mapped pages, which must stay mapped. All moves throw `LMDBError.corrupted` at a damaged
/// page, and `overtaken` if it may have been overwritten. They cost O(log n) pages. A walk over damaged pages need not
/// end, so its caller checks that keys ascend.
struct PageCursor: ~Copyable {
    /// A page on the way from the root to the leaf, with the index of the node that the cursor is at.
    private struct Step {
        let page: UnsafeRawPointer
        let count: Int
        var index: Int
    }

    private let pages: MappedPages
    private let root: PageNumber
    private let depth: Int
    private let areIntegers: Bool
    /// Room for the steps from the root to a leaf.
    private let steps: UnsafeMutablePointer<Step>
    /// The number of steps: `depth` if the cursor is at an entry, otherwise 0.
    private var count = 0

    init(_ pages: MappedPages, _ tree: TreeRecord) {
        self.pages = pages
        root = tree.root
        depth = tree.depth
        areIntegers = tree.keys == .integers
        steps = .allocate(capacity: max(1, tree.depth))
    }

    deinit { steps.deallocate() }

    var isAtEntry: Bool { count > 0 }

    private enum Place {
        case first
        case last
        case firstKey(from: UnsafeRawBufferPointer)
    }

    mutating func seekToFirst() throws(LMDBError) -> Bool { try seek(.first) }

    mutating func seekToLast() throws(LMDBError) -> Bool { try seek(.last) }

    /// Moves to the first entry whose key is `key` or greater. If that is in the cursor's leaf, the tree isn't searched.
    mutating func seek(toKeyFrom key: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
        if try isInLeaf(key) {
            steps[depth - 1].index = try page(depth - 1).firstNode(
                from: key, steps[depth - 1].count, areIntegers: areIntegers)
            return true
        }
        guard try seek(.firstKey(from: key)) else { return false }
        // The key may be greater than all keys of its leaf.
        return steps[depth - 1].index < steps[depth - 1].count ? true : try move(by: 1)
    }

    /// Moves to the next entry. Returns false at the end, or if the cursor is at no entry.
    @inline(__always)
    mutating func seekToNext() throws(LMDBError) -> Bool {
        if count > 0, steps[depth - 1].index + 1 < steps[depth - 1].count {
            steps[depth - 1].index += 1
            return true
        }
        return try move(by: 1)
    }

    /// Moves to the entry before the current one. Returns false at the beginning, or if the cursor is at no entry.
    mutating func seekToPrevious() throws(LMDBError) -> Bool { try move(by: -1) }

    /// The key and the value at the cursor, valid as long as the file is mapped. `flags` are those that the node of a
    /// value within its page must have.
    @inline(__always)
    func entry(
        flags: UInt16 = 0
    ) throws(LMDBError) -> (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        guard count > 0 else { throw LMDBError.corrupted }
        let page = page(depth - 1)
        let node = try page.checkedNode(steps[depth - 1].index, isLeaf: true)
        return (page.key(of: node), try pages.value(of: node, in: page, flags: flags))
    }

    /// Appends the entry at the cursor and the entries after it in its leaf to a block, until the block is full or a key
    /// is greater than `last`. Afterwards the cursor is at the first entry that wasn't appended, or at no entry. Throws
    /// `corrupted` if the keys don't ascend. For trees of integer keys.
    mutating func readLeaf(into block: inout EntryBlock, through last: UInt64) throws(LMDBError) {
        guard count > 0, areIntegers else { throw LMDBError.corrupted }
        try pages.requireUnwritten()
        let page = page(depth - 1)
        let end = steps[depth - 1].count
        var index = steps[depth - 1].index
        var found: UInt64?
        while index < end, !block.isFull {
            let node = try page.checkedNode(index, isLeaf: true)
            guard node.keyLength == 8 else { throw LMDBError.corrupted }
            let key = page.bytes.loadUnaligned(fromByteOffset: node.keyOffset, as: UInt64.self)
            if let found, found >= key { throw LMDBError.corrupted }
            if key > last { break }
            block.append(key, try pages.value(of: node, in: page, flags: 0))
            found = key
            index += 1
        }
        steps[depth - 1].index = index
        if index < end { return }
        steps[depth - 1].index = end - 1
        _ = try move(by: 1)
    }

    private mutating func seek(_ place: Place) throws(LMDBError) -> Bool {
        count = 0
        guard root != TreeRecord.noRoot else { return false }
        try descend(to: root, level: 0, place)
        return true
    }

    /// Adds the pages from one page, which is at a level below the root, to a leaf.
    private mutating func descend(to page: PageNumber, level top: Int, _ place: Place) throws(LMDBError) {
        var (number, level) = (page, top)
        while true {
            let isLeaf = level == depth - 1
            let (page, nodeCount) = try pages.page(number, isLeaf ? .leaf : .branch)
            let index: Int
            switch place {
            case .first: index = 0
            case .last: index = nodeCount - 1
            case .firstKey(let key):
                index =
                    isLeaf
                    ? try page.firstNode(from: key, nodeCount, areIntegers: areIntegers)
                    : try page.child(for: key, nodeCount, areIntegers: areIntegers)
            }
            guard let start = page.bytes.baseAddress else { throw LMDBError.corrupted }
            (steps + level).initialize(to: Step(page: start, count: nodeCount, index: index))
            if isLeaf { break }
            number = try page.checkedNode(index, isLeaf: false).child
            level += 1
        }
        count = depth
    }

    @inline(__always)
    private func page(_ level: Int) -> Page {
        Page(
            bytes: UnsafeRawBufferPointer(start: steps[level].page, count: pages.format.pageLength),
            layout: pages.format.layout)
    }

    /// Whether the cursor's leaf has the first key that is `key` or greater: it isn't below the leaf's first key, and not
    /// above its last one.
    private func isInLeaf(_ key: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
        guard count > 0 else { return false }
        try pages.requireUnwritten()
        let (page, end) = (page(depth - 1), steps[depth - 1].count)
        if try page.compare(page.checkedNode(0, isLeaf: true), key, areIntegers) > 0 { return false }
        return try page.compare(page.checkedNode(end - 1, isLeaf: true), key, areIntegers) >= 0
    }

    /// Moves to the neighbour of the current entry, or to no entry.
    private mutating func move(by distance: Int) throws(LMDBError) -> Bool {
        while count > 0 {
            let level = count - 1
            let index = steps[level].index + distance
            if index >= 0 && index < steps[level].count {
                steps[level].index = index
                if count < depth {
                    let kept = count
                    count = 0
                    let child = try page(level).checkedNode(index, isLeaf: false).child
                    try descend(to: child, level: kept, distance > 0 ? .first : .last)
                }
                return true
            }
            count -= 1
        }
        try pages.requireUnwritten()
        return false
    }
}
