internal import CFetchIndexLMDB
internal import FetchIndexPlatform
internal import Synchronization

/// What the read transactions of an environment share. It's valid until the map is moved.
struct SharedReading {
    /// The address of the map; nil before it's known.
    fileprivate nonisolated(unsafe) var map: UnsafeRawPointer?
    /// The open tables by their names.
    fileprivate var tables: [String: Table] = [:]
    /// The state that was read last, with the roots of these tables.
    fileprivate var last: MappedState?
    fileprivate var checked: CheckedPages?

    init() {}

    /// Forgets the map, which is moved.
    mutating func forgetMap() { (map, last) = (nil, nil) }

    mutating func know(_ tables: [String: Table]) { (self.tables, last) = (tables, nil) }
}

extension Environment {
    /// The state of a read transaction, whose pages are then read without LMDB. Returns nil if LMDB must read them: if
    /// the main tree isn't one page, or if a later commit may have overwritten the state's meta page. Throws `corrupted`
    /// or `wrongChecksum` if the main tree can't be read. O(1), or O(tables) for a new state, or one whose checksums are ignored.
    func state(of transaction: OpaquePointer, ignoringChecksums: Bool) throws(LMDBError) -> MappedState? {
        let number = UInt64(mdb_txn_id(transaction))
        let ignoresChecksums = ignoringChecksums && format.hasChecksums
        return try sharedReading.withLock { (shared) throws(LMDBError) in
            if let last = shared.last, last.meta.transaction == number, !ignoresChecksums { return last }
            guard let file = try? DataFile(ofOpen: Self.descriptor(of: handle)), let length = try? file.length(),
                let meta = meta(number, of: file)
            else { return nil }
            if shared.map == nil { shared.map = try map(transaction, file, meta) }
            guard let map = shared.map else { return nil }
            let filePages = UInt64(length / meta.pageSize)
            if format.hasChecksums, shared.checked.map({ $0.capacity < filePages }) ?? true {
                shared.checked = CheckedPages(capacity: filePages * 2, shared.checked)
            }
            let checked = ignoresChecksums ? nil : shared.checked
            let pages = MappedPages(meta, map, byteCount: length, isPinned: lockFile != nil, checked)
            let state = try MappedState(meta, pages, checked, shared.tables)
            if !ignoresChecksums { shared.last = state }
            return state
        }
    }

    /// The meta page of a state; nil if it has a defect, or if the next state was committed, because the one after that
    /// may then be overwriting the page.
    private func meta(_ number: UInt64, of file: borrowing DataFile) -> MetaPage? {
        guard let metas = try? MetaPage.both(of: file) else { return nil }
        let (meta, other) = (metas[Int(number & 1)], metas[Int(~number & 1)])
        guard meta.transaction == number, other.transaction < number, meta.defect == nil else { return nil }
        return meta
    }

    /// The address of LMDB's map, which LMDB doesn't tell: the address of the main tree's root, less its offset in the
    /// file. Throws `corrupted` if the root has a defect, before LMDB reads it.
    private func map(
        _ transaction: OpaquePointer, _ file: borrowing DataFile, _ meta: MetaPage
    ) throws(LMDBError) -> UnsafeRawPointer? {
        guard meta.main.depth == 1 else { return nil }
        if !file.isSoundLeaf(meta.main.root, of: meta) { throw .corrupted }
        var cursor: OpaquePointer?
        guard mdb_cursor_open(transaction, Self.mainTree, &cursor) == MDB_SUCCESS else { return nil }
        defer { mdb_cursor_close(cursor) }
        var (key, value) = (MDB_val(), MDB_val())
        guard mdb_cursor_get(cursor, &key, &value, MDB_FIRST) == MDB_SUCCESS, let address = key.mv_data else {
            return nil
        }
        let root = UInt(bitPattern: address) & ~UInt(meta.pageSize - 1)
        guard UnsafeRawPointer(bitPattern: root)?.loadUnaligned(as: PageNumber.self) == meta.main.root else {
            return nil
        }
        return UnsafeRawPointer(bitPattern: root - UInt(meta.main.root) * UInt(meta.pageSize))
    }

    /// LMDB's handle of the main tree, which is always open.
    private static let mainTree: MDB_dbi = 1
}
