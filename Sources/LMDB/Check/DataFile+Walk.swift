extension DataFile {
    /// Walks over the pages of a transaction's state. Nil if it's no longer one of the two states that the file begins
    /// with.
    package static func walk(_ path: String, _ transaction: Int, expecting tables: [TableDescription]) throws
        -> PageReport?
    {
        guard let file = try DataFile(inFolder: path), let metas = try MetaPage.both(of: file) else {
            throw DataFileError.damaged("its data.mdb is gone")
        }
        let meta = metas[transaction & 1]
        // Read twice, because a writer may be writing it.
        guard meta.transaction == UInt64(transaction), try MetaPage.both(of: file)?[transaction & 1] == meta else {
            return nil
        }
        if let defect = meta.defect { throw DataFileError.damaged(defect) }
        let length = try file.length()
        let walk = try PageWalk(file, meta, fileLength: length)
        try walk.walk(expecting: tables)
        return walk.report
    }

    /// Whether a transaction made the newest state of the file.
    package static func isNewest(_ transaction: Int, at path: String) throws -> Bool {
        guard let file = try DataFile(inFolder: path), let metas = try MetaPage.both(of: file) else { return true }
        return MetaPage.newest(of: metas).transaction == UInt64(transaction)
    }
}
