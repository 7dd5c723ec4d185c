extension Environment {
    /// The number of attempts to pin a state. A writer may replace it before it's pinned, but hardly this often.
    private static let pinningTries = 100

    /// Walks over all pages of the newest state of an environment without opening a table: LMDB reads no page of it.
    /// Others may read and write meanwhile: a read transaction pins the pages of the state. O(pages).
    ///
    /// Throws `DataFileError` if the file can't be opened.
    package static func checkPages(at path: String, expecting tables: [TableDescription]) throws -> PageReport {
        let environment = try openExisting(at: path)
        for _ in 0..<pinningTries {
            let transaction = try environment.beginRead()
            let report = try DataFile.walk(environment.path, transaction.identifier, expecting: tables)
            // A reader without a lock pins nothing, and may have walked over pages that were just written.
            let isPinned = try environment.information().readers > 0
            if let report, report.isWhole || isPinned { return report }
            if let report, try DataFile.isNewest(transaction.identifier, at: environment.path) { return report }
            _ = consume transaction
        }
        throw DataFileError.damaged("its data.mdb does not contain the newest transaction of its lock.mdb")
    }

    /// Opens for writing, so that other openings of the path in this process aren't refused; for reading only if
    /// writing isn't allowed.
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
}
