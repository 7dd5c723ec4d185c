/// Numbers by index, with memory only near indexes at which a number was set. Other indexes have the number 0.
///
/// A page has 16 numbers of 8 bytes: dense numbers take about 8 bytes each, numbers far from others some 200. Lookups
/// and changes cost O(1).
package struct SparseArray {
    private static let pageBits: UInt64 = 4
    private static let pageLength = 1 << 4
    private static let regionBits: UInt64 = 22
    private static let pagesOfBlock = 1 << 12

    /// The pages, in blocks, so that adding one never copies the others.
    private var blocks: [[UInt64]] = []
    private var pageCount = 0
    /// The positions of the first region's pages, plus 1. The first page that is made decides which 2^22 pages are this
    /// region: a list is faster than a dictionary, and few arrays have more regions.
    private var near: [UInt32] = []
    private var region: UInt64?
    /// The positions, plus 1, of the pages of other regions.
    private var far: [UInt64: UInt32] = [:]

    package init() {}

    package subscript(index: UInt64) -> UInt64 {
        get {
            let position = position(of: index >> Self.pageBits)
            if position == 0 { return 0 }
            let (block, offset) = Self.place(position, index)
            return blocks[block][offset]
        }
        set {
            var position = position(of: index >> Self.pageBits)
            if position == 0 { position = addPage(index >> Self.pageBits) }
            let (block, offset) = Self.place(position, index)
            blocks[block][offset] = newValue
        }
    }

    private static func place(_ position: Int, _ index: UInt64) -> (block: Int, offset: Int) {
        let page = position - 1
        return (
            page / pagesOfBlock,
            page % pagesOfBlock * pageLength + Int(index & UInt64(pageLength - 1))
        )
    }

    private func position(of page: UInt64) -> Int {
        guard page >> Self.regionBits == region else { return far.isEmpty ? 0 : Int(far[page] ?? 0) }
        let offset = Int(page & (1 << Self.regionBits - 1))
        return offset < near.count ? Int(near[offset]) : 0
    }

    private mutating func addPage(_ page: UInt64) -> Int {
        if pageCount % Self.pagesOfBlock == 0 {
            blocks.append([])
            blocks[blocks.count - 1].reserveCapacity(Self.pagesOfBlock * Self.pageLength)
        }
        blocks[blocks.count - 1].append(contentsOf: repeatElement(0, count: Self.pageLength))
        pageCount += 1
        if region == nil { region = page >> Self.regionBits }
        let offset = Int(page & (1 << Self.regionBits - 1))
        if page >> Self.regionBits != region {
            far[page] = UInt32(pageCount)
        } else {
            if offset >= near.count { near += [UInt32](repeating: 0, count: offset + 1 - near.count) }
            near[offset] = UInt32(pageCount)
        }
        return pageCount
    }

    /// Calls the body with each number that isn't 0 and its index, by ascending index. The pages can be divided into
    /// parts, one for each thread.
    package func forEach(
        part: Int = 0, of parts: Int = 1, _ body: (_ index: UInt64, _ number: UInt64) throws -> Void
    ) rethrows {
        var known = far.map { (page: $0.key, position: $0.value) }
        for (offset, position) in near.enumerated() where position > 0 {
            known.append(((region ?? 0) << Self.regionBits | UInt64(offset), position))
        }
        if !far.isEmpty { known.sort { $0.page < $1.page } }
        for (page, position) in known[known.count * part / parts..<known.count * (part + 1) / parts] {
            for index in page << Self.pageBits..<(page + 1) << Self.pageBits {
                let (block, offset) = Self.place(Int(position), index)
                let number = blocks[block][offset]
                if number != 0 { try body(index, number) }
            }
        }
    }
}

/// A set of numbers, which needs about one bit for each number if they are dense.
package struct SparseSet {
    private var words = SparseArray()

    package init() {}

    package func contains(_ number: UInt64) -> Bool { words[number >> 6] & 1 << (number & 63) != 0 }

    /// Adds a number; returns false if the set has it.
    @discardableResult
    package mutating func insert(_ number: UInt64) -> Bool {
        let (word, bit) = (words[number >> 6], 1 << (number & 63) as UInt64)
        if word & bit != 0 { return false }
        words[number >> 6] = word | bit
        return true
    }
}
