/// A value that a program writes in each transaction, and that contains the transaction's number. LMDB's meta pages
/// have no checksum: if a transaction number is damaged, LMDB may take the older state for the newest one. The value
/// can reveal that.
package struct Witness: Sendable {
    let table: String
    let key: [UInt8]
    package typealias Check = @Sendable (_ transaction: UInt64, _ value: [UInt8]?) -> String?

    /// Returns the defect that the value shows in the newest state; nil if it shows none. The arguments are the
    /// transaction that the meta page names, and the witness's value, which is nil if it's missing or can't be read.
    let defect: Check

    package init(table: String, key: [UInt8], defect: @escaping Check) {
        self.table = table
        self.key = key
        self.defect = defect
    }
}

extension DataFile {
    func defect(of meta: MetaPage, by witness: Witness) throws -> String? {
        let value = try value(of: witness.key, inTable: witness.table, of: meta)
        return witness.defect(meta.transaction, value)
    }

    /// Looks up a value by its byte key in a named table. Returns nil if the table or the key is missing, if the value
    /// is in overflow pages, or if a page or a tree record on the way has a defect. O(log n).
    private func value(of key: [UInt8], inTable table: String, of meta: MetaPage) throws -> [UInt8]? {
        guard let (page, value) = try find(meta.layout.key(ofTable: table), in: meta.main, of: meta),
            case .table(let range) = value,
            range.count == TreeRecord.length
        else { return nil }
        let bytes = page.bytes(range)
        let tree = TreeRecord(bytes.span.bytes)
        guard tree.defect(pageCount: meta.pageCount) == nil,
            let (leaf, value) = try find(key, in: tree, of: meta), case .here(let place) = value
        else { return nil }
        return leaf.bytes(place)
    }

    /// Whether a page is a leaf without a defect, whose nodes LMDB can have written.
    func isSoundLeaf(_ number: PageNumber, of meta: MetaPage) -> Bool {
        guard let page = try? page(number, isLeaf: true, of: meta), page.nodeCount > 0 else { return false }
        return (0..<page.nodeCount).allSatisfy { index in
            if case .unknown = page.value(index) { false } else { true }
        }
    }

    /// A branch or leaf; nil if it has a defect.
    private func page(_ number: PageNumber, isLeaf: Bool, of meta: MetaPage) throws -> PageView? {
        guard number < meta.pageCount else { return nil }
        let bytes = try bytes(at: Int(number) * meta.pageSize, count: meta.pageSize)
        let page = PageView(bytes, meta.layout)
        let defect =
            page.headerDefect(number, isLeaf ? .leaf : .branch, committedBy: meta.transaction)
            ?? page.nodeDefect(isLeaf: isLeaf)
        return defect == nil ? page : nil
    }

    private func find(
        _ key: [UInt8], in tree: TreeRecord, of meta: MetaPage
    ) throws -> (page: PageView, value: PageView.Value)? {
        guard tree.root != TreeRecord.noRoot else { return nil }
        var number = tree.root
        var level = tree.depth - 1
        while true {
            let isLeaf = level == 0
            guard let page = try page(number, isLeaf: isLeaf, of: meta) else { return nil }
            if isLeaf {
                let index = (0..<page.nodeCount).first { page.bytes(page.key($0)) == key }
                return index.map { (page, page.value($0)) }
            }
            guard page.nodeCount > 0 else { return nil }
            // The first key of a branch isn't used.
            let greater = (1..<max(page.nodeCount, 1)).first { !page.isKey(page.key($0), notAfter: key) }
            number = page.child((greater ?? page.nodeCount) - 1)
            level -= 1
        }
    }
}
