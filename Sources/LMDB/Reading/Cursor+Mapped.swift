internal import CFetchIndexLMDB

extension Cursor {
    /// Moves the cursor, and sets the key and the value if it found an entry. mdb_cursor_get
    @inline(__always)
    static func get(
        _ handle: OpaquePointer?, _ mapped: inout PageCursor?, _ key: inout MDB_val, _ value: inout MDB_val,
        _ operation: MDB_cursor_op
    ) throws(LMDBError) -> CInt {
        if let handle { return mdb_cursor_get(handle, &key, &value, operation) }
        return try getMapped(&mapped, &key, &value, operation)
    }

    /// Moves a cursor on a mapped file like mdb_cursor_get.
    @inline(never)
    private static func getMapped(
        _ mapped: inout PageCursor?, _ key: inout MDB_val, _ value: inout MDB_val, _ operation: MDB_cursor_op
    ) throws(LMDBError) -> CInt {
        guard var cursor = mapped.take() else { throw LMDBError.corrupted }
        defer { mapped = cursor }
        let isFound =
            switch operation {
            case MDB_FIRST: try cursor.seekToFirst()
            case MDB_LAST: try cursor.seekToLast()
            case MDB_NEXT: try cursor.seekToNext()
            case MDB_PREV: try cursor.seekToPrevious()
            default: try cursor.seek(toKeyFrom: UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size))
            }
        guard isFound else { return MDB_NOTFOUND }
        let entry = try cursor.entry()
        key = MDB_val(entry.key)
        value = MDB_val(entry.value)
        return MDB_SUCCESS
    }
}

extension MDB_val {
    fileprivate init(_ bytes: UnsafeRawBufferPointer) {
        self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}
