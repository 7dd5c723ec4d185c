internal import CFetchIndexLMDB

/// A committed state in a map: its pages, and the roots of its trees.
final class MappedState: Sendable {
    let meta: MetaPage
    let pages: MappedPages
    /// The records of the trees by the handles of their tables: 0 is the free list, 1 the main tree, as in LMDB. Nil for
    /// a handle without a table in this state.
    private let trees: [TreeRecord?]
    private let checked: CheckedPages?

    init(_ meta: MetaPage, _ pages: MappedPages, _ checked: CheckedPages?, trees: [TreeRecord?]) {
        self.meta = meta
        self.pages = pages
        self.checked = checked
        self.trees = trees
    }

    /// The state of an environment's transaction. Looks up the open tables in the main tree. O(tables)
    convenience init(
        _ meta: MetaPage, _ pages: MappedPages, _ checked: CheckedPages?, _ tables: [String: Table]
    ) throws(LMDBError) {
        if meta.main.depth == 1 { _ = try pages.page(meta.main.root, .leaf) }
        var trees: [TreeRecord?] = [meta.freeList, meta.main]
        for (name, table) in tables {
            let handle = Int(table.handle)
            while trees.count <= handle { trees.append(nil) }
            trees[handle] = try pages.tree(ofTable: name, in: meta)
        }
        self.init(meta, pages, checked, trees: trees)
    }

    /// The record of a table's tree.
    @inline(__always)
    func tree(of table: Table) throws(LMDBError) -> TreeRecord {
        guard Int(table.handle) < trees.count, let tree = trees[Int(table.handle)] else { throw .tableNotFound }
        guard tree.keys == table.keys else { throw .corrupted }
        return tree
    }

    /// Looks up a key. Calls the body with the value in place; returns false if the key is missing. O(log n)
    func get(_ key: MDB_val, in table: Table, _ body: (RawSpan) throws -> Void) throws -> Bool {
        let wanted = UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size)
        guard let value = try pages.value(of: wanted, in: tree(of: table)) else { return false }
        try body(value.bytes)
        return true
    }
}

extension MappedPages {
    /// The record of a named table; nil if it's missing. O(log n) of the number of tables
    fileprivate func tree(ofTable name: String, in meta: MetaPage) throws(LMDBError) -> TreeRecord? {
        let key = format.layout.key(ofTable: name)
        // `withUnsafeBytes` would lose the error's type.
        var found: Result<UnsafeRawBufferPointer?, LMDBError> = .success(nil)
        key.withUnsafeBytes { bytes in
            do throws(LMDBError) {
                found = .success(try value(of: bytes, in: meta.main, flags: Page.Node.tableFlag))
            } catch { found = .failure(error) }
        }
        guard let value = try found.get() else { return nil }
        return try tree(value, in: meta)
    }

    /// The record in a value of the main tree.
    private func tree(_ value: UnsafeRawBufferPointer, in meta: MetaPage) throws(LMDBError) -> TreeRecord {
        guard value.count == TreeRecord.length else { throw .corrupted }
        let tree = TreeRecord(value.bytes)
        guard tree.defect(pageCount: meta.pageCount) == nil else { throw .corrupted }
        return tree
    }

    /// The named tables, in the order of their names. Throws if the main tree has something else. O(tables)
    func tables(of meta: MetaPage) throws(LMDBError) -> [(name: String, tree: TreeRecord)] {
        var tables: [(name: String, tree: TreeRecord)] = []
        var cursor = PageCursor(self, meta.main)
        while try tables.isEmpty ? cursor.seekToFirst() : cursor.seekToNext() {
            let (key, value) = try cursor.entry(flags: Page.Node.tableFlag)
            guard tables.count < Self.mostTables else { throw .corrupted }
            tables.append((format.layout.tableName(Array(key)), try tree(value, in: meta)))
        }
        return tables
    }

    /// More tables than any store has: a cycle of damaged pages must not be followed for ever.
    private static let mostTables = 1000
}
