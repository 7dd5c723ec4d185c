extension DataFile {
    /// Walks over all pages of the state that `transaction` committed. Returns nil if no meta page of the file
    /// describes that state any more, or if its meta page is just being written.
    package static func walk(_ path: String, _ transaction: Int, expecting tables: [TableDescription]) throws
        -> PageReport?
    {
        guard let file = try DataFile(inFolder: path), let metas = try MetaPage.both(of: file) else {
            throw DataFileError.damaged("its data.mdb is missing")
        }
        let meta = metas[transaction & 1]
        // The meta page is read twice, because a writer may be writing it.
        guard meta.transaction == UInt64(transaction), try MetaPage.both(of: file)?[transaction & 1] == meta else {
            return nil
        }
        if let defect = meta.defect { throw DataFileError.damaged(defect) }
        let length = try file.length()
        let walk = try PageWalk(file, meta, fileLength: length)
        try walk.walk(expecting: tables)
        return walk.report
    }

    /// Whether `transaction` committed the newest state of the file. True if the file is missing or too short.
    package static func isNewest(_ transaction: Int, at path: String) throws -> Bool {
        guard let file = try DataFile(inFolder: path), let metas = try MetaPage.both(of: file) else { return true }
        return MetaPage.newest(of: metas).transaction == UInt64(transaction)
    }
}
