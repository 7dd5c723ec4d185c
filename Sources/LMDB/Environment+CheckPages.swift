extension Environment {
    /// The maximum number of attempts to check a state: after a state was pinned, two commits may have overwritten its
    /// meta page before the walk reads that page.
    private static let pinningTries = 100

    /// Checks all pages of an environment's newest state without opening a table, so that LMDB reads only the meta
    /// pages. Other processes may read and write meanwhile. O(pages).
    ///
    /// Throws `DataFileError` if LMDB can't safely open the file, or if all attempts fail.
    package static func checkPages(at path: String, expecting tables: [TableDescription]) throws -> PageReport {
        let environment = try openExisting(at: path)
        for _ in 0..<pinningTries {
            let transaction = try environment.pinNewest()
            let report = try DataFile.walk(environment.path, transaction.identifier, expecting: tables)
            // An environment that was opened without a lock pins no pages, so a writer may have overwritten pages
            // during the walk. A report with defects then counts only if the state is still the newest.
            let isPinned = try environment.information().readers > 0
            if let report, report.isWhole || isPinned { return report }
            if let report, try DataFile.isNewest(transaction.identifier, at: environment.path) { return report }
            _ = consume transaction
        }
        throw DataFileError.damaged("its data.mdb does not contain the newest transaction of its lock.mdb")
    }

    /// Opens an existing environment. Opens it for writing if that is allowed, so that other openings of the path in
    /// this process aren't refused; otherwise for reading.
    private static func openExisting(at path: String) throws -> Environment {
        var options = Options()
        options.creates = false
        do {
            return try open(at: path, options: options)
        } catch {
            var isRefused = [LMDBError.permissionDenied, .readOnlyFileSystem].contains(error as? LMDBError)
            if case DataFileError.otherVersion = error { isRefused = true }
            guard isRefused || error is EnvironmentIsReadOnly else { throw error }
            options.isReadOnly = true
            return try open(at: path, options: options)
        }
    }
}
