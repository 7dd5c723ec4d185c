internal import FetchIndexLMDB
internal import FetchIndexModels

extension Store {
    /// The version of the LMDB that this process uses, such as "0.9.24".
    package static var lmdbVersion: String { LinkedLMDB.version }

    /// The file and the readers of a store.
    package struct EnvironmentInformation {
        package let fileBytes: Int
        /// The total length of the free pages in bytes.
        package let freeBytes: Int
        package let readers: [ReaderInformation]
        /// The data version of the file, and the releases of LMDB that use it.
        package let layoutVersion: Int
        package let layoutRelease: String
        package let hasPageChecksums: Bool
        /// The version of the linked LMDB.
        package let libraryVersion: String
    }

    /// The total length of each table's pages in bytes, in a snapshot's state. O(tables).
    package func tableBytes(in snapshot: Snapshot) throws -> [(name: String, bytes: Int)] {
        let pageSize = try environment.information().pageSize
        let all = [tables.meta, tables.records, tables.log, tables.unique, tables.caches, tables.nodes]
        return try zip(StoreLayout.tables, all).map { description, table in
            let statistics = try snapshot.view.statistics(of: table)
            let pages = statistics.branchPages + statistics.leafPages + statistics.overflowPages
            return (description.name, pages * pageSize)
        }
    }

    /// The number of the last LMDB transaction that any process committed. It grows by one with each transaction that
    /// writes, including those that write only caches. O(1).
    package func lastTransaction() throws -> Int { try environment.information().lastTransaction }

    /// The size of the file, its free pages, and its readers. O(f + r (f + c) + c log n) for r readers, f transactions
    /// with free pages, and c commits that the oldest reader doesn't see.
    package func environmentInformation() throws -> EnvironmentInformation {
        // Readers are listed before the snapshot is opened, since the snapshot is one too.
        let readers = try environment.readers()
        let snapshot = try self.snapshot()
        let free: [(transaction: Int, count: Int)]
        do { free = try snapshot.view.freePages() } catch { throw Self.explain(error, at: path) }
        let information = try environment.information()
        return EnvironmentInformation(
            fileBytes: information.usedPages * information.pageSize,
            freeBytes: free.reduce(0) { $0 + $1.count } * information.pageSize,
            readers: try ReaderInformation.list(readers, in: snapshot, free, pageSize: information.pageSize),
            layoutVersion: Int(environment.layout.rawValue), layoutRelease: environment.layout.releases,
            hasPageChecksums: environment.hasPageChecksums,
            libraryVersion: LinkedLMDB.version)
    }
}

extension StoreReader {
    /// The version of the store's format. If it's older than this program's, the next transaction in which this program
    /// writes raises it.
    package func formatVersion() throws -> Int {
        guard let version = try Store.formatVersion(in: view, tables) else {
            throw StoreError.corrupted("the format version is missing")
        }
        return Int(version)
    }
}

/// The findings of a check of the pages of a store's file.
package struct PageCheck: Sendable {
    /// One sentence each.
    package let defects: [String]
    /// Whether LMDB can read all pages, although there may be defects.
    package let isReadable: Bool
    /// Whether the only defects are wrong checksums.
    package let hasOnlyWrongChecksums: Bool
    /// Whether checksums of pages with records are wrong. A record's own checksum doesn't cover its object number.
    package let mayHaveWrongObjects: Bool
}

extension Store {
    /// Checks the pages of a store's file, also for defects that LMDB doesn't detect. The store need not be open. LMDB
    /// itself reads only the meta pages, and no table is opened. Throws `StoreError` if the store can't be opened.
    /// O(pages).
    package static func checkPages(at path: String) throws -> PageCheck {
        try requireFile(at: path)
        do {
            let report = try Environment.checkPages(at: path, expecting: StoreLayout.tables)
            return PageCheck(
                defects: report.defects, isReadable: report.isReadable,
                hasOnlyWrongChecksums: report.hasOnlyWrongChecksums,
                mayHaveWrongObjects: report.tablesWithWrongChecksums.contains(StoreLayout.recordsTable))
        } catch {
            throw explain(error, at: path)
        }
    }
}

extension Error {
    /// Whether the system refused access or writing. If so, the store may still be readable.
    package var isPermission: Bool {
        guard let error = LMDBError(self) else { return false }
        return [LMDBError.permissionDenied, .readOnlyFileSystem].contains(error)
    }
}
