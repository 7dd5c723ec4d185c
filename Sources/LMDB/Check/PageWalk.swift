internal import FetchIndexPlatform
/// A walk over the pages of one committed state of a data file. It reads the file without LMDB, because LMDB trusts the
/// pages.
///
/// It checks the two trees of a meta page and the trees of the named tables against LMDB's page format: each page has
/// the number and the kind that its parent expects, nodes are within their page, keys are in order, stored counts are
/// right, and each page is either used once or free. The bytes of the named tables' values aren't checked. O(pages).
/// The walk ends even if pages form a cycle.
final class PageWalk {
    let file: DataFile
    let meta: MetaPage
    /// The number of whole pages in the file.
    let filePages: UInt64
    private(set) var used: PageSet
    private(set) var free: PageSet
    var report = PageReport()

    /// Begins a walk. `fileLength` must be read after the meta page, since a writer extends the file before it writes
    /// that page.
    init(_ file: consuming DataFile, _ meta: MetaPage, fileLength: Int) throws {
        filePages = UInt64(fileLength / meta.pageSize)
        // Pages at the end that were never written may be missing from the file. The free list must name them, with
        // eight bytes each, so the file's length limits their number.
        guard meta.pageCount <= filePages + UInt64(fileLength / 8) else {
            throw Self.cutOff(fileLength: fileLength, meta)
        }
        self.file = file
        self.meta = meta
        used = PageSet(below: Int(meta.pageCount))
        free = PageSet(below: Int(meta.pageCount))
    }

    static func cutOff(fileLength: Int, _ meta: MetaPage) -> DataFileError {
        .damaged(
            "its data.mdb is cut off: it has \(fileLength) bytes, and should have \(meta.pageCount) pages of \(meta.pageSize) bytes"
        )
    }

    /// Walks over the trees. Reports `tables` that are missing or have other kinds of keys.
    func walk(expecting tables: [TableDescription]) throws {
        try walkFreeList()
        var found: [(name: String, tree: TreeRecord)] = []
        let counts = try walk(meta.main, "the main tree", keys: .bytes) { page, key, value in
            let name = self.meta.layout.tableName(page.bytes(key))
            guard case .table(let range) = value, range.count == TreeRecord.length else {
                return "does not hold a table under the name \"\(name)\""
            }
            let bytes = page.bytes(range)
            found.append((name, TreeRecord(bytes.span.bytes)))
            return nil
        }
        compare(counts, with: meta.main, "the main tree")
        for (name, tree) in found {
            let subject = "table \"\(name)\""
            if let defect = tree.defect(pageCount: meta.pageCount) {
                report.add("\(subject) \(defect)")
                continue
            }
            let keys = tables.first { $0.name == name }?.keys ?? tree.keys ?? .bytes
            if keys != tree.keys { report.add("\(subject) has the wrong kind of keys") }
            let wrongChecksums = report.wrongChecksums
            let counts = try walk(tree, subject, keys: keys) { _, _, value in
                switch value {
                case .here, .overflow: nil
                case .table: "holds a table where a value should be"
                case .unknown(let flags): "has a node with the flags \(flags)"
                }
            }
            compare(counts, with: tree, subject)
            report.tables[name] = counts
            if report.wrongChecksums > wrongChecksums { report.tablesWithWrongChecksums.insert(name) }
        }
        for table in tables where !found.contains(where: { $0.name == table.name }) {
            report.add("table \"\(table.name)\" is missing")
        }
        checkLostPages()
    }

    private func checkLostPages() {
        report.freePages = free.count
        guard report.isReadable else { return }
        let lost = meta.pageCount - MetaPage.count - UInt64(used.count) - UInt64(free.count)
        report.lostPages = Int(lost)
        if lost > 0 { report.add("\(counted(lost, "page is", "pages are")) neither used nor free") }
    }

    // MARK: Pages

    /// Marks `count` successive pages as used. Returns false, and reports the defect, if they must not be read.
    func use(_ page: PageNumber, count: UInt64 = 1, _ subject: String) -> Bool {
        guard page >= MetaPage.count, page < meta.pageCount, count >= 1, count <= meta.pageCount - page else {
            let run = count == 1 ? "page \(page)" : "the \(count) pages starting at page \(page)"
            report.add("\(run): \(subject) leads there, but the usable pages are 2 to \(meta.lastPage)")
            return false
        }
        guard page + count <= filePages else {
            report.add("page \(page): \(subject) leads there, but the file is too short")
            return false
        }
        for number in page..<page + count {
            // Stops at the first page that is used twice. Otherwise the check would take too long if many values named
            // the same long run.
            guard used.insert(number) else {
                report.add("page \(number): it is used twice, the second time by \(subject)")
                return false
            }
            if free.contains(number) { report.add("page \(number): it is used by \(subject) and in the free list") }
        }
        return true
    }

    /// Marks a page as free.
    func release(_ page: PageNumber) {
        guard page >= MetaPage.count, page < meta.pageCount else {
            report.add("page \(page): the free list names it, but the usable pages are 2 to \(meta.lastPage)")
            return
        }
        if used.contains(page) { report.add("page \(page): it is used and in the free list") }
        if !free.insert(page) { report.add("page \(page): the free list names it twice") }
    }

    func read(_ page: PageNumber, byteCount: Int) throws -> [UInt8] {
        try file.bytes(at: Int(page) * meta.pageSize, count: byteCount)
    }

    private func compare(_ counts: TreeStatistics, with tree: TreeRecord, _ subject: String) {
        let pairs = [
            ("branch pages", counts.branchPages, tree.branchPages), ("leaf pages", counts.leafPages, tree.leafPages),
            ("overflow pages", counts.overflowPages, tree.overflowPages), ("entries", counts.entries, tree.entries),
        ]
        for (what, found, kept) in pairs where UInt64(found) != kept {
            report.add("\(subject) counts \(kept) \(what), but has \(found)")
        }
    }
}

extension PageWalk {
    /// Walks over the free list. Each entry lists free pages, usually those that the transaction in its key freed: LMDB
    /// may take pages from the list and put them back under another transaction.
    ///
    ///     transaction 8 (integer key)    count 8 | page 8 x count, in descending order | [unused bytes]
    func walkFreeList() throws {
        let subject = "the free list"
        let counts = try walk(meta.freeList, subject, keys: .integers) { page, key, value in
            let keyBytes = page.bytes(key)
            let transaction = keyBytes.span.bytes.unsafeLoadUnaligned(as: UInt64.self)
            if transaction > self.meta.transaction {
                return "lists pages freed by transaction \(transaction), which is later than the checked state"
            }
            switch value {
            case .here(let range): return self.release(listed: page.bytes(range))
            case .overflow(let run, let byteCount):
                let start = Int(run.first) * self.meta.pageSize + self.meta.layout.headerLength
                let bytes = try self.file.bytes(at: start, count: byteCount)
                return bytes.count == byteCount
                    ? self.release(listed: bytes) : "has a page list that extends past the end of the file"
            case .table, .unknown: return "has a node that is not a list of pages"
            }
        }
        compare(counts, with: meta.freeList, subject)
    }

    private func release(listed bytes: [UInt8]) -> String? {
        let list = bytes.span.bytes
        guard bytes.count >= 8, bytes.count % 8 == 0 else { return "has a page list of \(bytes.count) bytes" }
        let count = list.unsafeLoadUnaligned(as: UInt64.self)
        guard count < UInt64(bytes.count / 8) else {
            return "has a page list that counts \(count) pages in \(bytes.count) bytes"
        }
        var last = PageNumber.max
        var isInOrder = true
        for index in 0..<Int(count) {
            let page = list.unsafeLoadUnaligned(fromByteOffset: 8 + 8 * index, as: UInt64.self)
            if page >= last { isInOrder = false }
            last = page
            release(page)
        }
        return isInOrder ? nil : "has a page list that is not in descending order"
    }
}
