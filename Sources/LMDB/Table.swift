internal import CFetchIndexLMDB
internal import FetchIndexPlatform
internal import Synchronization

/// A named table of an environment, which LMDB calls a database. It maps sorted keys to one value each.
///
/// A byte key is 1 to 511 bytes long, which is the limit of LMDB 0.9. The keys of an integer table are 64-bit integers.
package struct Table: Sendable {
    let handle: MDB_dbi
    let keys: KeyKind

    /// The maximum length of a byte key.
    package static let maximumKeyLength = 511
}

extension Environment {
    /// Opens tables, which stay open until the environment is closed. If `creating`, and the environment isn't
    /// read-only, creates missing tables in one transaction; otherwise throws if a table is missing. mdb_dbi_open
    package func tables(
        _ descriptions: [TableDescription], creating: Bool, ignoringChecksums: Bool = false
    ) throws -> [Table] {
        if let file = newestFile() {
            return try descriptions.map { description throws(LMDBError) in
                guard let table = try file.table(description) else { throw .tableNotFound }
                return table
            }
        }
        // A read transaction checks the main tree's page, which LMDB then reads.
        _ = try beginRead(ignoringChecksums: ignoringChecksums)
        // LMDB requires that only one thread at a time opens tables.
        return try openTables.withLock { open in
            let missing = descriptions.filter { open[$0.name] == nil }
            if !missing.isEmpty {
                // A transaction that has opened a table must end before another one opens tables. Tables are missing
                // only if they were created since the environment was opened, which a program of this version doesn't do.
                if hasScratchTable.load(ordering: .relaxed) { throw LMDBError(rawValue: MDB_BAD_DBI) }
                do {
                    open.merge(try openTables(missing, flags: UInt32(MDB_RDONLY))) { first, _ in first }
                } catch let error as LMDBError where error == .tableNotFound && creating && !isReadOnly {
                    open.merge(try openTables(missing, flags: 0)) { first, _ in first }
                }
                sharedReading.withLock { $0.know(open) }
            }
            return descriptions.compactMap { open[$0.name] }
        }
    }

    /// Whether the newest state has no tables, and no entries of a program that uses LMDB without named tables.
    package func isEmpty() throws -> Bool {
        let transaction = try beginRead()
        var main: MDB_dbi = 0
        try check(mdb_dbi_open(transaction.view.handle, nil, 0, &main))
        return try transaction.view.statistics(of: Table(handle: main, keys: .bytes)).entries == 0
    }

    /// Opens tables in a transaction. Commits even a read transaction, because aborting it would close the tables.
    private func openTables(_ descriptions: [TableDescription], flags: UInt32) throws -> [String: Table] {
        let transaction = try begin(flags: flags)
        var opened: [String: Table] = [:]
        do {
            for description in descriptions {
                var keyFlags = description.keys == .integers ? UInt32(MDB_INTEGERKEY) : 0
                if flags == 0 { keyFlags |= UInt32(MDB_CREATE) }
                var handle: MDB_dbi = 0
                try checkWrite(mdb_dbi_open(transaction, description.name, keyFlags, &handle))
                opened[description.name] = Table(handle: handle, keys: description.keys)
            }
        } catch {
            mdb_txn_abort(transaction)
            end()
            throw error
        }
        defer { end() }
        try checkWrite(FileSizeLimit.withoutSignal { mdb_txn_commit(transaction) })
        return opened
    }
}

/// Throws unless a byte key has a length that LMDB 0.9 allows, so that each file can be converted to its layout.
func requireAllowed(_ key: RawSpan) throws(LMDBError) {
    guard (1...Table.maximumKeyLength).contains(key.byteCount) else { throw LMDBError(rawValue: MDB_BAD_VALSIZE) }
}
