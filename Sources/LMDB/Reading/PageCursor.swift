internal import FetchIndexPlatform

/// A position in a tree of a `MappedFile`, which must stay mapped. All moves throw `LMDBError.corrupted` at a damaged
/// page, and `overtaken` if it may have been overwritten. They cost O(log n) pages. A walk over damaged pages need not
/// end, so its caller checks that keys ascend.
struct PageCursor {
    private struct Step {
        let page: Page
        let count: Int
        var index: Int
    }

    private let pages: MappedPages
    private let tree: TreeRecord
    /// The pages from the root to the leaf, with the index of the node that the cursor is at; empty if it's at no
    /// entry.
    private var steps: [Step] = []

    init(_ pages: MappedPages, _ tree: TreeRecord) {
        self.pages = pages
        self.tree = tree
    }

    private enum Place {
        case first
        case last
        case firstKey(from: UnsafeRawBufferPointer)
    }

    mutating func seekToFirst() throws(LMDBError) -> Bool { try seek(.first) }

    mutating func seekToLast() throws(LMDBError) -> Bool { try seek(.last) }

    /// Moves to the first entry whose key is `key` or greater.
    mutating func seek(toKeyFrom key: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
        guard try seek(.firstKey(from: key)), let leaf = steps.last else { return false }
        // The key may be greater than all keys of its leaf.
        return leaf.index < leaf.count ? true : try move(by: 1)
    }

    /// Moves to the next entry. Returns false at the end, or if the cursor is at no entry.
    mutating func seekToNext() throws(LMDBError) -> Bool { try move(by: 1) }

    /// Moves to the entry before the current one. Returns false at the beginning, or if the cursor is at no entry.
    mutating func seekToPrevious() throws(LMDBError) -> Bool { try move(by: -1) }

    /// The key and the value at the cursor, valid as long as the file is mapped. `flags` are those that the node of a
    /// value within its page must have.
    func entry(
        flags: UInt16 = 0
    ) throws(LMDBError) -> (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        guard let leaf = steps.last else { throw LMDBError.corrupted }
        let node = try node(leaf.index, of: leaf.page, isLeaf: true)
        let key = bytes(node.keyOffset, node.keyLength, of: leaf.page)
        switch node.flags {
        case flags: return (key, bytes(node.valueOffset, node.valueLength, of: leaf.page))
        case Page.Node.overflowFlag: return (key, try pages.value(of: node))
        default: throw LMDBError.corrupted
        }
    }

    private mutating func seek(_ place: Place) throws(LMDBError) -> Bool {
        steps.removeAll(keepingCapacity: true)
        guard tree.root != TreeRecord.noRoot else { return false }
        try descend(to: tree.root, place)
        return true
    }

    /// Adds the pages from one page to a leaf.
    private mutating func descend(to root: PageNumber, _ place: Place) throws(LMDBError) {
        var number = root
        while true {
            let isLeaf = steps.count == tree.depth - 1
            let (page, count) = try pages.page(number, isLeaf ? .leaf : .branch)
            let index: Int
            switch place {
            case .first: index = 0
            case .last: index = count - 1
            case .firstKey(let key): index = try search(key, in: page, count, isLeaf: isLeaf)
            }
            steps.append(Step(page: page, count: count, index: index))
            if isLeaf { return }
            number = try node(index, of: page, isLeaf: false).child
        }
    }

    /// In a leaf, the index of the first key that is `key` or greater, or `count`. In a branch, the index of the child
    /// that can have that key: the last one whose own key, which the first one lacks, isn't greater. O(log count)
    private func search(
        _ key: UnsafeRawBufferPointer, in page: Page, _ count: Int, isLeaf: Bool
    ) throws(LMDBError) -> Int {
        var (low, high) = (isLeaf ? 0 : 1, count)
        while low < high {
            let middle = (low + high) / 2
            let node = try node(middle, of: page, isLeaf: isLeaf)
            let order = try compare(bytes(node.keyOffset, node.keyLength, of: page), key)
            if isLeaf ? order < 0 : order <= 0 { low = middle + 1 } else { high = middle }
        }
        return isLeaf ? low : low - 1
    }

    private func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) throws(LMDBError) -> Int {
        guard tree.keys == .integers else { return left.bytes.compare(right.bytes) }
        guard left.count == 8, right.count == 8 else { throw LMDBError.corrupted }
        let (first, second) = (left.loadUnaligned(as: UInt64.self), right.loadUnaligned(as: UInt64.self))
        return first < second ? -1 : first == second ? 0 : 1
    }

    /// Moves to the neighbour of the current entry, or to no entry.
    private mutating func move(by distance: Int) throws(LMDBError) -> Bool {
        while let last = steps.last {
            let index = last.index + distance
            if index >= 0 && index < last.count {
                steps[steps.count - 1].index = index
                if steps.count < tree.depth {
                    let child = try node(index, of: last.page, isLeaf: false).child
                    try descend(to: child, distance > 0 ? .first : .last)
                }
                return true
            }
            steps.removeLast()
        }
        try pages.requireUnwritten()
        return false
    }

    /// A node that is within its page.
    private func node(_ index: Int, of page: Page, isLeaf: Bool) throws(LMDBError) -> Page.Node {
        let end = page.bytes.count
        let offset = page.offset(of: index)
        guard offset + Page.Node.headerLength <= end else { throw LMDBError.corrupted }
        let node = page.node(at: offset)
        guard node.keyOffset + node.keyLength <= end, !isLeaf || node.valueOffset + node.storedLength <= end else {
            throw LMDBError.corrupted
        }
        return node
    }

    private func bytes(_ offset: Int, _ count: Int, of page: Page) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: page.bytes[offset..<offset + count])
    }
}
