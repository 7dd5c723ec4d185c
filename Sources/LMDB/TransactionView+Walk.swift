internal import CFetchIndexLMDB
extension TransactionView {
    /// Calls the body with a cursor at each entry of a table, in the order of keys. The body may delete the entry at
    /// the cursor.
    package func forEachEntry(in table: Table, _ body: (inout Cursor) throws -> Void) throws {
        try withCursor(on: table) { cursor in
            var isAtEntry = try cursor.seekToFirst()
            try Self.walk(&cursor, &isAtEntry) {
                try body(&$0)
                return true
            }
        }
    }

    /// Calls the body with a cursor at each entry whose key is `key` or greater, in order, until the body returns
    /// false. The body may delete the entry at the cursor.
    package func walk(_ table: Table, from key: RawSpan, _ body: (inout Cursor) throws -> Bool) throws {
        try withCursor(on: table) { cursor in
            var isAtEntry = try cursor.seek(toKeyFrom: key)
            try Self.walk(&cursor, &isAtEntry, body)
        }
    }

    /// Like `walk(_:from:_:)` with a byte key, for a table of integer keys.
    package func walk(_ table: Table, from key: UInt64, _ body: (inout Cursor) throws -> Bool) throws {
        try withCursor(on: table) { cursor in
            var isAtEntry = try cursor.seek(toKeyFrom: key)
            try Self.walk(&cursor, &isAtEntry, body)
        }
    }

    private static func walk(
        _ cursor: inout Cursor, _ isAtEntry: inout Bool, _ body: (inout Cursor) throws -> Bool
    ) throws {
        while isAtEntry, try body(&cursor) { isAtEntry = try cursor.seekToNext() }
    }
}

extension TransactionView {
    /// The number of free pages in each entry of LMDB's free list, with the transaction in the entry's key, which
    /// usually freed these pages. Only for read transactions. Throws `DataFileError` if an entry of the free list is
    /// too short for its pages. O(entries of the free list).
    package func freePages() throws -> [(transaction: Int, count: Int)] {
        var freed: [(transaction: Int, count: Int)] = []
        try forEachEntry(in: Table(handle: 0, keys: .integers)) { cursor in
            let byteCount = cursor.value.byteCount
            guard byteCount >= 8 else { throw DataFileError.damaged("its free list is cut off") }
            let count = cursor.value.unsafeLoadUnaligned(as: UInt64.self)
            guard count < UInt64(byteCount / 8) else {
                throw DataFileError.damaged("its free list has \(count) pages in \(byteCount) bytes")
            }
            freed.append((Int(clamping: cursor.integerKey), Int(clamping: count)))
        }
        return freed
    }

    /// The transaction's number. For a write transaction, this is the number of the state that its commit makes.
    /// mdb_txn_id
    package var identifier: Int {
        state?._withUnsafeGuaranteedRef { Int($0.meta.transaction) } ?? Int(mdb_txn_id(handle))
    }
}
