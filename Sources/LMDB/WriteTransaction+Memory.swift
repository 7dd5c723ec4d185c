internal import CFetchIndexLMDB
internal import FetchIndexCLibrary
internal import Synchronization

// The memory that a write transaction takes.
//
// LMDB keeps the pages that a transaction changes in memory, and writes some of them to the file ("spills" them) only
// when it has 131,071 of them, which are 512 MB. Before a put, it makes room for as many pages as the put may change
// (mdb_page_spill in mdb.c). A put of several values for a key (MDB_MULTIPLE) may change as many pages as all of them
// fill. So a put that announces enough values makes LMDB spill when fewer pages are changed. It writes nothing else if
// the first value is stored already and MDB_NODUPDATA is given: then it returns MDB_KEYEXIST.
//
// Only a table of a special kind (MDB_DUPFIXED) takes such puts. The transaction creates it, and deletes it before it
// commits, so no file has it.
extension WriteTransaction {
    /// The number of changed pages at which LMDB spills: MDB_IDL_UM_MAX in midl.h.
    private static let mostChangedPages = (1 << 17) - 1
    private static let scratchName = "scratch"

    /// If the changed pages of the transaction take more memory than this number of bytes, writes most of them to the
    /// file, where no other transaction can see them before the commit. The memory is used for other changed pages.
    /// Spans and cursor values of earlier reads become invalid, as with a put. O(log n), and O(p log p) for p pages if
    /// some are written.
    package mutating func limitMemory(to byteCount: Int) throws {
        let pageLength = environment.format.pageLength
        // LMDB doubles its estimate of the pages that a put may change.
        let announced = (Self.mostChangedPages - byteCount / pageLength) / 2 * pageLength
        guard announced > 0 else { return }
        let table = try scratchTable ?? openScratchTable()
        scratchTable = table
        let code = try put(valuesOf: announced, in: table)
        if code == MDB_KEYEXIST { return }
        try check(code, writtenIn: view.handle)
        throw LMDBError(rawValue: MDB_BAD_TXN)
    }

    /// Puts 8-byte values of this many bytes in all, the first of which the table has.
    private func put(valuesOf byteCount: Int, in table: Table) throws -> CInt {
        try Self.withScratchEntry { key, value in
            var cursor: OpaquePointer?
            try check(mdb_cursor_open(view.handle, table.handle, &cursor))
            defer { mdb_cursor_close(cursor) }
            var values = (value, MDB_val(mv_size: byteCount / value.mv_size, mv_data: nil))
            return withUnsafeMutablePointer(to: &values) { values in
                values.withMemoryRebound(to: MDB_val.self, capacity: 2) { values in
                    write(in: view.handle) {
                        mdb_cursor_put(cursor, &key, values, UInt32(MDB_MULTIPLE | MDB_NODUPDATA))
                    }
                }
            }
        }
    }

    /// Creates the scratch table with one entry. While it exists, no other transaction of the process may open tables.
    private func openScratchTable() throws -> Table {
        try environment.openTables.withLock { _ in
            var handle: MDB_dbi = 0
            let flags = UInt32(MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED)
            let code = write(in: view.handle) { mdb_dbi_open(view.handle, Self.scratchName, flags, &handle) }
            try check(code, writtenIn: view.handle)
            environment.hasScratchTable.store(true, ordering: .relaxed)
            try Self.withScratchEntry { key, value in
                let code = write(in: view.handle) { mdb_put(view.handle, handle, &key, &value, 0) }
                try check(code, writtenIn: view.handle)
            }
            return Table(handle: handle, keys: .bytes)
        }
    }

    /// Deletes the scratch table, if any.
    func deleteScratchTable() throws {
        guard let table = scratchTable else { return }
        try environment.openTables.withLock { _ in
            let code = write(in: view.handle) { mdb_drop(view.handle, table.handle, 1) }
            try check(code, writtenIn: view.handle)
        }
    }

    private static func withScratchEntry<Result>(
        _ body: (inout MDB_val, inout MDB_val) throws -> Result
    ) rethrows -> Result {
        var bytes: UInt64 = 0
        return try withUnsafeMutableBytes(of: &bytes) { bytes in
            var (key, value) = (MDB_val(mv_size: 1, mv_data: bytes.baseAddress), MDB_val(UnsafeRawBufferPointer(bytes)))
            return try body(&key, &value)
        }
    }
}
