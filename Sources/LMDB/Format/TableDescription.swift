/// The type and the order of a table's keys.
package enum KeyKind: Sendable {
    /// Byte strings, in the order of memcmp.
    case bytes
    /// 64-bit unsigned integers in the machine's byte order, by value.
    case integers
}

/// The name of a table, and the kind of its keys.
package struct TableDescription: Sendable {
    package let name: String
    package let keys: KeyKind

    package init(_ name: String, _ keys: KeyKind = .bytes) {
        self.name = name
        self.keys = keys
    }
}

/// The depth of a tree, and the numbers of its pages and entries.
package struct TreeStatistics: Sendable {
    package let depth: Int
    package let branchPages: Int
    package let leafPages: Int
    package let overflowPages: Int
    package let entries: Int

    package init(depth: Int, branchPages: Int, leafPages: Int, overflowPages: Int, entries: Int) {
        self.depth = depth
        self.branchPages = branchPages
        self.leafPages = leafPages
        self.overflowPages = overflowPages
        self.entries = entries
    }

    package var pages: Int { branchPages + leafPages + overflowPages }
}
