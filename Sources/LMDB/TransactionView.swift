internal import CFetchIndexLMDB

/// Reads the tables of a transaction, and writes them if it's a write transaction.
///
/// A view doesn't own its transaction, so the caller must keep the transaction alive.
package struct TransactionView {
    /// LMDB's transaction; nil if a mapped file is read without LMDB.
    let handle: OpaquePointer?
    /// The state whose pages are read directly; nil if LMDB reads them: in a write transaction, which has its changed
    /// pages in memory of its own. It isn't retained, since views are copied often.
    let state: Unmanaged<MappedState>?
    /// Whether all pages that are read are in LMDB's map, and are as long as the system's.
    let isInMap: Bool

    /// The view of a write transaction, or of a read transaction that LMDB reads.
    init(handle: OpaquePointer) {
        self.handle = handle
        state = nil
        isInMap = false
    }

    /// The view of a read transaction.
    init(handle: OpaquePointer, _ state: MappedState) {
        self.handle = handle
        self.state = Unmanaged.passUnretained(state)
        isInMap = true
    }

    /// The view of a file that is read without LMDB.
    init(_ state: MappedState) {
        handle = nil
        self.state = Unmanaged.passUnretained(state)
        isInMap = false
    }

    /// Looks up a byte key. Calls the body with the value in place; returns false if the key is missing. mdb_get
    package func get(_ key: RawSpan, in table: Table, _ body: (RawSpan) throws -> Void) throws -> Bool {
        try withKey(key) { try get(&$0, in: table, body) }
    }

    package func get(_ key: [UInt8], in table: Table, _ body: (RawSpan) throws -> Void) throws -> Bool {
        try get(key.span.bytes, in: table, body)
    }

    /// Looks up an integer key. Calls the body with the value in place; returns false if the key is missing. mdb_get
    package func get(_ key: UInt64, in table: Table, _ body: (RawSpan) throws -> Void) throws -> Bool {
        try withKey(key) { try get(&$0, in: table, body) }
    }

    private func get(_ key: inout MDB_val, in table: Table, _ body: (RawSpan) throws -> Void) throws -> Bool {
        if let state { return try state._withUnsafeGuaranteedRef { try $0.get(key, in: table, body) } }
        var value = MDB_val()
        guard try checkFound(mdb_get(handle, table.handle, &key, &value)) else { return false }
        try body(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size).bytes)
        return true
    }

    /// Calls the body with a new cursor on a table, and closes it afterwards. mdb_cursor_open, mdb_cursor_close
    package func withCursor<Result>(on table: Table, _ body: (inout Cursor) throws -> Result) throws -> Result {
        var cursor = try Cursor(self, table)
        return try body(&cursor)
    }

    /// The numbers of a table's pages and entries. mdb_stat
    package func statistics(of table: Table) throws -> TreeStatistics {
        if let state { return try state._withUnsafeGuaranteedRef { try $0.tree(of: table).statistics } }
        var stat = MDB_stat()
        try check(mdb_stat(handle, table.handle, &stat))
        return TreeStatistics(
            depth: Int(stat.ms_depth), branchPages: stat.ms_branch_pages, leafPages: stat.ms_leaf_pages,
            overflowPages: stat.ms_overflow_pages, entries: stat.ms_entries)
    }

    // MARK: Writing (LMDB returns an error if it's a read transaction)

    /// Inserts or replaces the value of a byte key. `appending` says that the key is greater than all keys of the
    /// table; throws `keyExists` if it isn't. mdb_put
    package func put(
        _ value: RawSpan, for key: RawSpan, in table: Table, appending: Bool = false, replacing: Bool = true
    ) throws {
        try requireAllowed(key)
        let flags = UInt32(appending ? MDB_APPEND : 0) | UInt32(replacing ? 0 : MDB_NOOVERWRITE)
        try withKey(key) { try put(value, &$0, in: table, flags: flags) }
    }

    package func put(_ value: [UInt8], for key: [UInt8], in table: Table) throws {
        try put(value.span.bytes, for: key.span.bytes, in: table)
    }

    /// Inserts or replaces the value of an integer key. `appending` says that the key is greater than all keys of the
    /// table. Throws `keyExists` if it isn't, or if the key exists and `replacing` is false. mdb_put
    package func put(
        _ value: RawSpan, for key: UInt64, in table: Table, appending: Bool = false, replacing: Bool = true
    ) throws {
        let flags = UInt32(appending ? MDB_APPEND : 0) | UInt32(replacing ? 0 : MDB_NOOVERWRITE)
        try withKey(key) { try put(value, &$0, in: table, flags: flags) }
    }

    private func put(_ value: RawSpan, _ key: inout MDB_val, in table: Table, flags: UInt32) throws {
        try value.withUnsafeBytes { value in
            var mdbValue = MDB_val(value)
            let code = write(in: handle) { mdb_put(handle, table.handle, &key, &mdbValue, flags) }
            try check(code, writtenIn: handle)
        }
    }

    /// Deletes a byte key. Returns false if it's missing. mdb_del
    @discardableResult
    package func delete(_ key: RawSpan, in table: Table) throws -> Bool {
        try withKey(key) { try delete(&$0, in: table) }
    }

    @discardableResult
    package func delete(_ key: [UInt8], in table: Table) throws -> Bool { try delete(key.span.bytes, in: table) }

    /// Deletes an integer key. Returns false if it's missing. mdb_del
    @discardableResult
    package func delete(_ key: UInt64, in table: Table) throws -> Bool {
        try withKey(key) { try delete(&$0, in: table) }
    }

    private func delete(_ key: inout MDB_val, in table: Table) throws -> Bool {
        let code = write(in: handle) { mdb_del(handle, table.handle, &key, nil) }
        if code == MDB_NOTFOUND { return false }
        try check(code, writtenIn: handle)
        return true
    }
}

/// Calls the body with a byte key as an MDB_val.
@inline(__always)
func withKey<Result>(_ key: RawSpan, _ body: (inout MDB_val) throws -> Result) rethrows -> Result {
    try key.withUnsafeBytes { bytes in
        var key = MDB_val(bytes)
        return try body(&key)
    }
}

extension MDB_val {
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}

/// Calls the body with an integer key as an MDB_val.
@inline(__always)
func withKey<Result>(_ key: UInt64, _ body: (inout MDB_val) throws -> Result) rethrows -> Result {
    try Swift.withUnsafeBytes(of: key) { try withKey($0.bytes, body) }
}
