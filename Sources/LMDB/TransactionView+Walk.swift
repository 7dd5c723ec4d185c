extension TransactionView {
    /// Hands out each entry of a table in the order of keys. The body may delete the entry at the cursor.
    package func forEachEntry(in table: Table, _ body: (inout Cursor) throws -> Void) throws {
        try withCursor(on: table) { cursor in
            var isAtEntry = try cursor.moveToFirst()
            try Self.walk(&cursor, &isAtEntry) {
                try body(&$0)
                return true
            }
        }
    }

    /// As `forEachEntry`, from the first entry whose key is not less than one, until the body returns false.
    package func walk(_ table: Table, from key: RawSpan, _ body: (inout Cursor) throws -> Bool) throws {
        try withCursor(on: table) { cursor in
            var isAtEntry = try cursor.move(toKeyFrom: key)
            try Self.walk(&cursor, &isAtEntry, body)
        }
    }

    /// As above, in a table of integer keys.
    package func walk(_ table: Table, from key: UInt64, _ body: (inout Cursor) throws -> Bool) throws {
        try withCursor(on: table) { cursor in
            var isAtEntry = try cursor.move(toKeyFrom: key)
            try Self.walk(&cursor, &isAtEntry, body)
        }
    }

    private static func walk(
        _ cursor: inout Cursor, _ isAtEntry: inout Bool, _ body: (inout Cursor) throws -> Bool
    ) throws {
        while isAtEntry, try body(&cursor) { isAtEntry = try cursor.moveToNext() }
    }
}
