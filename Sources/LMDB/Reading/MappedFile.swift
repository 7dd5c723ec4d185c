internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import CFetchIndexLMDB

/// The newest committed state of a data file, mapped into memory and read without LMDB. So the file may have the layout
/// of another LMDB than the linked one.
///
/// LMDB doesn't know of this reader. Once other processes have committed twice after the state, they may overwrite its
/// pages: reading it then throws `LMDBError.overtaken`.
final class MappedFile: Sendable {
    let pages: MappedPages
    let identity: FileIdentity
    /// The named tables, in the order of their names.
    let tables: [(name: String, tree: TreeRecord)]

    /// Maps the file. Throws `DataFileError` if it's missing or a meta page has a defect, and `LMDBError.corrupted` if
    /// the main tree can't be read.
    init(inFolder path: String) throws {
        guard let file = try DataFile(inFolder: path) else { throw DataFileError.damaged("its data.mdb is missing") }
        let meta = try Self.newestMeta(of: file)
        identity = try FileIdentity(ofOpen: file.descriptor)
        pages = MappedPages(meta: meta, bytes: try file.map())
        do { tables = try pages.tables() } catch {
            pages.unmap()
            throw error
        }
    }

    deinit { pages.unmap() }

    private static let tries = 50
    private static let pauseInMicroseconds: UInt32 = 2000

    /// The meta page of the newest state. Another process may be writing the pages, so they are read again if they have
    /// a defect.
    private static func newestMeta(of file: borrowing DataFile) throws -> MetaPage {
        var attempt = 1
        while true {
            do {
                guard let metas = try MetaPage.both(of: file) else {
                    throw DataFileError.damaged("its data.mdb is cut off: it is shorter than two pages")
                }
                let meta = MetaPage.newest(of: metas)
                guard let defect = MetaPage.defect(of: metas) ?? meta.defect else { return meta }
                throw DataFileError.damaged(defect)
            } catch  where attempt < tries {
                attempt += 1
                usleep(pauseInMicroseconds)
            }
        }
    }

    /// The record of a table's tree. The handles are 0 for the free list, 1 for the main tree, as in LMDB, and then
    /// those of the named tables.
    func tree(of table: Table) throws(LMDBError) -> TreeRecord {
        switch table.handle {
        case 0: return pages.meta.freeList
        case 1: return pages.meta.main
        case let handle:
            guard Int(handle) - 2 < tables.count else { throw .corrupted }
            return tables[Int(handle) - 2].tree
        }
    }

    var information: Environment.Information {
        Environment.Information(
            mapSize: pages.bytes.count, pageSize: pages.meta.pageSize, usedPages: Int(pages.meta.pageCount),
            lastTransaction: Int(pages.meta.transaction), readers: 0, maximumReaders: 0)
    }

    /// Looks up a key. Calls the body with the value in place; returns false if the key is missing. O(log n)
    func get(_ key: MDB_val, in table: Table, _ body: (RawSpan) throws -> Void) throws -> Bool {
        let wanted = UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size)
        var cursor = PageCursor(pages, try tree(of: table))
        guard try cursor.seek(toKeyFrom: wanted) else { return false }
        let (found, value) = try cursor.entry()
        guard found.elementsEqual(wanted) else { return false }
        try body(value.bytes)
        return true
    }

    /// The named table; nil if it's missing. Throws if its keys are of another kind.
    func table(_ description: TableDescription) throws(LMDBError) -> Table? {
        guard let index = tables.firstIndex(where: { $0.name == description.name }) else { return nil }
        guard tables[index].tree.keys == description.keys else { throw .corrupted }
        return Table(handle: UInt32(index + 2), keys: description.keys)
    }
}

/// The mapped pages of a committed state.
struct MappedPages: @unchecked Sendable {
    let meta: MetaPage
    // The bytes aren't written.
    let bytes: UnsafeRawBufferPointer

    fileprivate func unmap() { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }

    /// A branch or leaf with the number of its nodes. Throws `LMDBError.corrupted` if it's missing, or its header is
    /// wrong. O(1)
    func page(_ number: PageNumber, _ kind: Page.Kind) throws(LMDBError) -> (page: Page, nodeCount: Int) {
        let page = Page(bytes: try run(number, count: 1), layout: meta.layout)
        let (lower, header) = (page.lower, meta.layout.headerLength)
        let isRight =
            page.number == number && page.flags == kind.rawValue && page.transaction ?? 0 <= meta.transaction
            && lower > header && lower <= meta.pageSize
        try requireUnwritten()
        guard isRight else { throw LMDBError.corrupted }
        return (page, (lower - header) / 2)
    }

    /// Throws `LMDBError.overtaken` if other processes may have overwritten pages of the state. The writer after the
    /// next one may reuse them, and it begins when the next one has committed.
    func requireUnwritten() throws(LMDBError) {
        for page in 0..<2 {
            let place = page * meta.pageSize + meta.layout.headerLength + MetaPage.transactionOffset
            let newest = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            if newest > meta.transaction + 1 { throw .overtaken }
        }
    }

    /// The bytes of successive pages.
    private func run(_ first: PageNumber, count: UInt64) throws(LMDBError) -> UnsafeRawBufferPointer {
        let filePages = UInt64(bytes.count / meta.pageSize)
        guard first >= MetaPage.count, first < filePages, count >= 1, count <= filePages - first else {
            throw LMDBError.corrupted
        }
        let start = Int(first) * meta.pageSize
        return UnsafeRawBufferPointer(rebasing: bytes[start..<start + Int(count) * meta.pageSize])
    }

    /// A leaf node's value that is on overflow pages.
    func value(of node: Page.Node) throws(LMDBError) -> UnsafeRawBufferPointer {
        let reference = node.overflowRun
        let head = Page(bytes: try run(reference.first, count: 1), layout: meta.layout)
        let count = UInt64(head.overflowCount)
        try requireUnwritten()
        guard head.number == reference.first, head.flags == Page.Kind.overflow.rawValue,
            head.transaction ?? 0 <= meta.transaction, reference.count ?? count == count,
            count >= meta.layout.overflowCount(of: node.valueLength, pageLength: meta.pageSize)
        else { throw LMDBError.corrupted }
        let bytes = try run(reference.first, count: count)
        let start = meta.layout.headerLength
        return UnsafeRawBufferPointer(rebasing: bytes[start..<start + node.valueLength])
    }

    /// The named tables, in the order of their names. Throws if the main tree has something else. O(tables)
    fileprivate func tables() throws(LMDBError) -> [(name: String, tree: TreeRecord)] {
        var tables: [(name: String, tree: TreeRecord)] = []
        var cursor = PageCursor(self, meta.main)
        while try tables.isEmpty ? cursor.seekToFirst() : cursor.seekToNext() {
            let (key, value) = try cursor.entry(flags: Page.Node.tableFlag)
            guard value.count == TreeRecord.length, tables.count < Self.mostTables else { throw LMDBError.corrupted }
            let tree = TreeRecord(value.bytes)
            guard tree.defect(pageCount: meta.pageCount) == nil else { throw LMDBError.corrupted }
            tables.append((meta.layout.tableName(Array(key)), tree))
        }
        return tables
    }

    /// More tables than any store has: a cycle of damaged pages must not be followed for ever.
    private static let mostTables = 1000
}

extension DataFile {
    /// Maps the file into memory. mmap
    fileprivate func map() throws -> UnsafeRawBufferPointer {
        let length = try length()
        guard let start = mmap(nil, length, PROT_READ, MAP_SHARED, descriptor, 0), start != MAP_FAILED else {
            throw SystemError.last
        }
        return UnsafeRawBufferPointer(start: start, count: length)
    }
}
