internal import FetchIndexPlatform
internal import CFetchIndexLMDB
/// A position in a table. After a move that returned true, `key` and `value` are the bytes of the entry at the cursor.
/// These bytes are valid until the cursor moves, or its transaction writes or ends.
package struct Cursor: ~Copyable {
    /// LMDB's cursor; nil if the pages are read directly.
    private let handle: OpaquePointer?
    private var pages: PageCursor?
    private let keys: KeyKind
    private let isInMap: Bool
    /// A copy of the key that `seekToNext` starts from. Moving the cursor or deleting the entry can invalidate the
    /// original.
    private var passedKey: [UInt8] = []
    private var hasDeleted = false
    private var currentKey = MDB_val()
    private var currentValue = MDB_val()
    private var pageLoader = PageLoader()

    /// Opens a cursor. mdb_cursor_open
    init(_ view: TransactionView, _ table: Table) throws {
        var opened: OpaquePointer?
        if let state = view.state {
            let (pages, tree) = try state._withUnsafeGuaranteedRef { ($0.pages, try $0.tree(of: table)) }
            self.pages = PageCursor(pages, tree)
        } else {
            try check(mdb_cursor_open(view.handle, table.handle, &opened))
            guard opened != nil else { throw LMDBError.corrupted }
        }
        handle = opened
        keys = table.keys
        isInMap = view.isInMap
    }

    deinit { if handle != nil { mdb_cursor_close(handle) } }

    package var key: RawSpan {
        @_lifetime(borrow self)
        get {
            let bytes = UnsafeRawBufferPointer(start: currentKey.mv_data, count: currentKey.mv_size).bytes
            return _overrideLifetime(bytes, borrowing: self)
        }
    }

    package var value: RawSpan {
        @_lifetime(borrow self)
        get {
            let bytes = UnsafeRawBufferPointer(start: currentValue.mv_data, count: currentValue.mv_size).bytes
            return _overrideLifetime(bytes, borrowing: self)
        }
    }

    /// The key in a table of integer keys; 0 if the entry's key doesn't have eight bytes.
    package var integerKey: UInt64 {
        currentKey.mv_size == 8 ? currentKey.mv_data.loadUnaligned(as: UInt64.self) : 0
    }

    package mutating func seekToFirst() throws -> Bool {
        hasDeleted = false
        return try step(MDB_FIRST)
    }

    /// Moves to the next entry; returns false at the end. Throws `LMDBError.corrupted` if the next key isn't greater:
    /// otherwise a walk over damaged pages that form a cycle wouldn't end.
    package mutating func seekToNext() throws -> Bool {
        if keys == .integers, !hasDeleted {
            let last = integerKey
            guard try step(MDB_NEXT) else { return false }
            guard integerKey > last else { throw LMDBError.corrupted }
            return true
        }
        if !hasDeleted { passKey() }
        hasDeleted = false
        guard try step(MDB_NEXT) else { return false }
        guard isKeyGreaterThanPassed else { throw LMDBError.corrupted }
        return true
    }

    private mutating func passKey() {
        passedKey.removeAll(keepingCapacity: true)
        passedKey.append(contentsOf: UnsafeRawBufferPointer(start: currentKey.mv_data, count: currentKey.mv_size))
    }

    private var isKeyGreaterThanPassed: Bool {
        passedKey.withUnsafeBytes { passed in
            if keys == .integers {
                return passed.count != 8 || integerKey > passed.loadUnaligned(as: UInt64.self)
            }
            return key.compare(passed.bytes) > 0
        }
    }

    /// Moves to the first entry whose key is `key` or greater; returns false if all keys are less. Throws if damaged
    /// pages lead to a lesser key. MDB_SET_RANGE
    package mutating func seek(toKeyFrom key: RawSpan) throws -> Bool {
        let (code, foundKey, foundValue) = try withKey(key) { try seek($0) }
        guard try settle(code, foundKey, foundValue) else { return false }
        if keys == .bytes, self.key.compare(key) < 0 { throw LMDBError.corrupted }
        return true
    }

    /// Moves to the last entry whose key is less than `key`; returns false if no key is less. Throws if damaged pages
    /// lead to a key that isn't less. MDB_SET_RANGE, and MDB_PREV or MDB_LAST
    package mutating func seek(toLastKeyBefore key: RawSpan) throws -> Bool {
        guard try step(seek(toKeyFrom: key) ? MDB_PREV : MDB_LAST) else { return false }
        if keys == .bytes, self.key.compare(key) >= 0 { throw LMDBError.corrupted }
        return true
    }

    /// Moves like `seek(toKeyFrom:)` above, in a table of integer keys.
    package mutating func seek(toKeyFrom key: UInt64) throws -> Bool {
        let (code, foundKey, foundValue) = try withKey(key) { try seek($0) }
        guard try settle(code, foundKey, foundValue) else { return false }
        guard integerKey >= key else { throw LMDBError.corrupted }
        return true
    }

    /// Calls the body with the entries of a table of integer keys whose keys are `key` or greater, in order, until the
    /// body returns false.
    package mutating func walk(fromKey key: UInt64, _ body: (UInt64, RawSpan) throws -> Bool) throws {
        _ = try seek(toKeyFrom: key)
        while currentValue.mv_data != nil {
            loadPage()
            let found = integerKey
            if try !body(found, value) { return }
            try next(after: found)
        }
    }

    /// Appends entries to a block, beginning with the entry at the cursor, until the block is full, a key is greater
    /// than `last`, or the table ends. Afterwards the cursor is at the first entry that wasn't appended, if any. If the
    /// block isn't full afterwards, no entry of the table up to `last` is left. If an entry can't be read, throws, and
    /// the block has the entries before it. For tables of integer keys.
    package mutating func read(into block: inout EntryBlock, through last: UInt64) throws {
        while !block.isFull, let value = currentValue.mv_data, integerKey <= last {
            loadPage()
            if pages != nil {
                try readLeaf(into: &block, through: last)
            } else {
                block.append(integerKey, UnsafeRawBufferPointer(start: value, count: currentValue.mv_size))
                try next(after: integerKey)
            }
        }
    }

    /// Appends the entry of an integer key to a block, which must have room. Returns false if the key is missing.
    package mutating func read(_ key: UInt64, into block: inout EntryBlock) throws -> Bool {
        guard try seek(toKeyFrom: key), integerKey == key else { return false }
        block.append(key, UnsafeRawBufferPointer(start: currentValue.mv_data, count: currentValue.mv_size))
        return true
    }

    /// Moves like `seekToNext`, in a table of integer keys, but doesn't support deletions.
    @inline(__always)
    private mutating func next(after key: UInt64) throws {
        let code = try Self.get(handle, &pages, &currentKey, &currentValue, MDB_NEXT)
        if code == MDB_SUCCESS {
            guard integerKey > key else { throw LMDBError.corrupted }
        } else {
            _ = try settle(code, MDB_val(), MDB_val())
        }
    }

    /// Prefetches the page of the value at the cursor.
    @inline(__always)
    private mutating func loadPage() {
        // An empty value at the end of its page has the address of the next page, which may not exist.
        if isInMap && currentValue.mv_size > 0 { pageLoader.load(currentValue) }
    }

    /// Deletes the entry at the cursor. The next `seekToNext` moves to the entry after it. Throws `corrupted` if
    /// `OverflowPages` finds that the page count of the value's overflow pages is wrong, because LMDB would free that
    /// many pages. mdb_cursor_del
    package mutating func deleteCurrent() throws {
        try requireWritable()
        guard let transaction = mdb_cursor_txn(handle), let environment = mdb_txn_env(transaction) else {
            throw LMDBError.badTransaction
        }
        let format = try Environment.of(transaction)?.format ?? Environment.format(of: environment)
        var information = MDB_envinfo()
        mdb_env_info(environment, &information)
        guard
            OverflowPages.areRight(
                for: currentValue, keyLength: currentKey.mv_size, format,
                pageCount: UInt64(information.me_last_pgno) + 1, in: UInt64(mdb_txn_id(transaction)))
        else { throw LMDBError.corrupted }
        passKey()
        hasDeleted = true
        let code = write(in: mdb_cursor_txn(handle)) { mdb_cursor_del(handle, 0) }
        try check(code, writtenIn: mdb_cursor_txn(handle))
    }

    /// Inserts or replaces a value in a table of integer keys. A key on the cursor's page is found without a search
    /// from the root. mdb_cursor_put
    package mutating func put(_ value: RawSpan, for key: UInt64) throws {
        try value.withUnsafeBytes { value in
            var mdbValue = MDB_val(value)
            try put(&mdbValue, for: key, flags: 0)
        }
    }

    /// Inserts or replaces a value in a table of byte keys. mdb_cursor_put
    package mutating func put(_ value: RawSpan, for key: RawSpan) throws {
        try requireAllowed(key)
        try begin()
        let code = withKey(key) { mdbKey in
            withKey(value) { mdbValue in
                write(in: mdb_cursor_txn(handle)) { mdb_cursor_put(handle, &mdbKey, &mdbValue, 0) }
            }
        }
        try check(code, writtenIn: mdb_cursor_txn(handle))
    }

    /// Inserts or replaces a value in a table of integer keys, and calls `fill` to write the value in place.
    /// `appending` says that the key is greater than all keys of the table. mdb_cursor_put with MDB_RESERVE
    package mutating func put(
        reserving byteCount: Int, for key: UInt64, appending: Bool = false,
        _ fill: (UnsafeMutableRawBufferPointer) -> Void
    ) throws {
        var mdbValue = MDB_val(mv_size: byteCount, mv_data: nil)
        try put(&mdbValue, for: key, flags: UInt32(MDB_RESERVE) | (appending ? UInt32(MDB_APPEND) : 0))
        fill(UnsafeMutableRawBufferPointer(start: mdbValue.mv_data, count: mdbValue.mv_size))
    }

    /// Throws if a mapped file is read without LMDB.
    private func requireWritable() throws(LMDBError) { if handle == nil { throw .permissionDenied } }

    /// Clears the current entry, which a write may invalidate.
    private mutating func begin() throws(LMDBError) {
        try requireWritable()
        currentKey = MDB_val()
        currentValue = MDB_val()
        hasDeleted = false
    }

    private mutating func put(_ value: inout MDB_val, for key: UInt64, flags: UInt32) throws {
        try begin()
        var key = key
        let code = withUnsafeMutableBytes(of: &key) { bytes in
            var mdbKey = MDB_val(mv_size: bytes.count, mv_data: bytes.baseAddress)
            return write(in: mdb_cursor_txn(handle)) { mdb_cursor_put(handle, &mdbKey, &value, flags) }
        }
        try check(code, writtenIn: mdb_cursor_txn(handle))
    }

    private mutating func seek(_ key: MDB_val) throws(LMDBError) -> (CInt, MDB_val, MDB_val) {
        var key = key
        var value = MDB_val()
        let code = try Self.get(handle, &pages, &key, &value, MDB_SET_RANGE)
        return (code, key, value)
    }

    private mutating func settle(_ code: CInt, _ key: MDB_val, _ value: MDB_val) throws -> Bool {
        let isFound = try checkFound(code)
        hasDeleted = false
        currentKey = isFound ? key : MDB_val()
        currentValue = isFound ? value : MDB_val()
        return isFound
    }

    /// Moves the cursor, and sets the key and the value if it found an entry. mdb_cursor_get
    @inline(__always)
    private static func get(
        _ handle: OpaquePointer?, _ pages: inout PageCursor?, _ key: inout MDB_val, _ value: inout MDB_val,
        _ operation: MDB_cursor_op
    ) throws(LMDBError) -> CInt {
        if let handle { return mdb_cursor_get(handle, &key, &value, operation) }
        let isFound =
            switch operation {
            case MDB_FIRST: try pages?.seekToFirst()
            case MDB_LAST: try pages?.seekToLast()
            case MDB_NEXT: try pages?.seekToNext()
            case MDB_PREV: try pages?.seekToPrevious()
            default: try pages?.seek(toKeyFrom: UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size))
            }
        guard isFound == true, let entry = try pages?.entry() else { return MDB_NOTFOUND }
        key = MDB_val(entry.key)
        value = MDB_val(entry.value)
        return MDB_SUCCESS
    }

    private mutating func step(_ operation: MDB_cursor_op) throws -> Bool {
        let code = try Self.get(handle, &pages, &currentKey, &currentValue, operation)
        return code == 0 ? true : try settle(code, MDB_val(), MDB_val())
    }

    /// Appends the entries of a leaf that is read without LMDB, see `PageCursor.readLeaf`. Throws if the keys don't
    /// ascend from the block's last one to the entry at which the cursor is then.
    private mutating func readLeaf(into block: inout EntryBlock, through last: UInt64) throws(LMDBError) {
        let start = block.count
        try pages?.readLeaf(into: &block, through: last)
        let entry = pages?.isAtEntry == true ? try pages?.entry() : nil
        currentKey = entry.map { MDB_val($0.key) } ?? MDB_val()
        currentValue = entry.map { MDB_val($0.value) } ?? MDB_val()
        guard block.count > start, entry == nil || integerKey > block.keys[block.count - 1] else { throw .corrupted }
    }
}
