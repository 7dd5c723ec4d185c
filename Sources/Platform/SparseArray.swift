/// Numbers by index, with pages only where a number was set. Other indexes have the number 0.
///
/// A page has 4,096 numbers of 8 bytes. Lookups and changes cost O(1).
package struct SparseArray {
    private static let pageBits: UInt64 = 12
    private static let pageLength = 1 << 12
    private static let regionBits: UInt64 = 20

    private var pages: [[UInt64]] = []
    /// The positions in `pages`, plus 1, of the first region's pages. The first page that is made decides which 2^20
    /// pages are this region: a list is faster than a dictionary, and few arrays have more regions.
    private var near: [UInt32] = []
    private var region: UInt64?
    /// The positions in `pages`, plus 1, of the pages of other regions.
    private var far: [UInt64: UInt32] = [:]

    package init() {}

    package subscript(index: UInt64) -> UInt64 {
        get {
            let position = position(of: index >> Self.pageBits)
            return position == 0 ? 0 : pages[position - 1][Int(index & UInt64(Self.pageLength - 1))]
        }
        set {
            var position = position(of: index >> Self.pageBits)
            if position == 0 { position = addPage(index >> Self.pageBits) }
            pages[position - 1][Int(index & UInt64(Self.pageLength - 1))] = newValue
        }
    }

    private func position(of page: UInt64) -> Int {
        guard page >> Self.regionBits == region else { return Int(far[page] ?? 0) }
        let offset = Int(page & (1 << Self.regionBits - 1))
        return offset < near.count ? Int(near[offset]) : 0
    }

    private mutating func addPage(_ page: UInt64) -> Int {
        pages.append([UInt64](repeating: 0, count: Self.pageLength))
        let (position, offset) = (UInt32(pages.count), Int(page & (1 << Self.regionBits - 1)))
        if region == nil { region = page >> Self.regionBits }
        if page >> Self.regionBits == region {
            if offset >= near.count { near += [UInt32](repeating: 0, count: offset + 1 - near.count) }
            near[offset] = position
        } else {
            far[page] = position
        }
        return pages.count
    }

    /// Calls the body with each number that isn't 0 and its index, by ascending index. The pages can be divided into
    /// parts, one for each thread.
    package func forEach(
        part: Int = 0, of parts: Int = 1, _ body: (_ index: UInt64, _ number: UInt64) throws -> Void
    ) rethrows {
        var known = far.map { ($0.key, Int($0.value)) }
        for (offset, position) in near.enumerated() where position > 0 {
            known.append(((region ?? 0) << Self.regionBits | UInt64(offset), Int(position)))
        }
        known.sort { $0.0 < $1.0 }
        for (page, position) in known[known.count * part / parts..<known.count * (part + 1) / parts] {
            for (offset, number) in pages[position - 1].enumerated() where number != 0 {
                try body(page << Self.pageBits | UInt64(offset), number)
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
