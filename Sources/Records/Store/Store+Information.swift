internal import LMDB

extension Store {
    /// The file and the readers of a store.
    package struct EnvironmentInformation {
        package struct Reader {
            package let process: Int
            /// Transactions since the one that it pins.
            package let age: Int
        }

        package let fileBytes: Int
        /// Pages of the file that hold nothing now.
        package let freeBytes: Int
        package let readers: [Reader]
    }

    /// The number of LMDB's last transaction, of any process: it grows with every commit and every write of a cache.
    /// Costs a look at shared memory.
    package func lastTransaction() throws -> Int { try environment.information().lastTransaction }

    package func environmentInformation() throws -> EnvironmentInformation {
        let information = try environment.information()
        let readers = try environment.readers().compactMap { reader in
            reader.transaction.map {
                EnvironmentInformation.Reader(process: reader.process, age: information.lastTransaction - $0)
            }
        }
        let snapshot = try self.snapshot()
        let tables = [tables.meta, tables.records, tables.log, tables.unique, tables.caches, tables.nodes]
        let pages = try tables.reduce(0) { $0 + (try snapshot.view.statistics(of: $1).pages) }
        return EnvironmentInformation(
            fileBytes: information.usedPages * information.pageSize,
            freeBytes: max(0, information.usedPages - pages - 4) * information.pageSize, readers: readers)
    }
}

extension Store {
    /// Everything that is wrong with the pages of a store's file, one sentence each: with what LMDB believes without
    /// looking. No store needs to be open, and no page is read through LMDB. O(pages). Throws `StoreError` when the store
    /// could not be opened either.
    package static func checkPages(at path: String) throws -> [String] {
        try requireFile(at: path)
        do {
            return try Environment.checkPages(at: path, expecting: StoreLayout.tables).defects
        } catch {
            throw explain(error, at: path)
        }
    }
}

extension Error {
    /// Whether the system refused access: the store may still be readable.
    package var isPermission: Bool {
        guard let error = self as? LMDBError else { return false }
        return [LMDBError.permissionDenied, .readOnlyFileSystem].contains(error)
    }
}
