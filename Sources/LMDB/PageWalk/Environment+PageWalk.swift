extension Environment {
    /// Newer states may be written faster than they are pinned, but not time and again.
    private static let pinningTries = 100

    /// Walks over all pages of the newest state of an environment without opening a table: LMDB reads no page of it.
    /// Others may read and write meanwhile: a read transaction keeps the pages of the state as they are. O(pages).
    ///
    /// Throws `DataFileError` when the file cannot be opened.
    package static func checkPages(at path: String, expecting tables: [Table.Description]) throws -> PageReport {
        let environment = try openExisting(at: path)
        for _ in 0..<pinningTries {
            let transaction = try environment.beginRead()
            let report = try walk(environment.path, transaction.identifier, expecting: tables)
            // Whoever reads without a lock pins nothing, and may have walked over pages that were just written.
            let isPinned = try environment.information().readers > 0
            if let report, report.isWhole || isPinned { return report }
            if let report, try isNewest(transaction.identifier, at: environment.path) { return report }
            _ = consume transaction
        }
        throw DataFileError.damaged("its data.mdb has not the transaction that its lock.mdb tells of")
    }

    /// For writing, so that no other opening of the path in this process is refused; for reading where it must be.
    private static func openExisting(at path: String) throws -> Environment {
        var options = Options()
        options.creates = false
        do {
            return try open(at: path, options: options)
        } catch {
            let isRefused = [LMDBError.permissionDenied, .readOnlyFileSystem].contains(error as? LMDBError)
            guard isRefused || error is EnvironmentIsReadOnly else { throw error }
            options.isReadOnly = true
            return try open(at: path, options: options)
        }
    }

    private static func isNewest(_ transaction: Int, at path: String) throws -> Bool {
        guard let file = try DataFile(inFolder: path), let metas = try MetaPage.both(of: file) else { return true }
        return MetaPage.newest(of: metas).transaction == UInt64(transaction)
    }

    /// Nil when the state is no longer one of the two that the file begins with.
    private static func walk(_ path: String, _ transaction: Int, expecting tables: [Table.Description]) throws
        -> PageReport?
    {
        guard let file = try DataFile(inFolder: path), let metas = try MetaPage.both(of: file) else {
            throw DataFileError.damaged("its data.mdb is gone")
        }
        let meta = metas[transaction & 1]
        // Read twice, lest a writer was just writing it.
        guard meta.transaction == UInt64(transaction), try MetaPage.both(of: file)?[transaction & 1] == meta else {
            return nil
        }
        if let defect = meta.defect { throw DataFileError.damaged(defect) }
        let length = try file.length()
        let walk = try PageWalk(file, meta, fileLength: length)
        try walk.walk(expecting: tables)
        return walk.report
    }
}
