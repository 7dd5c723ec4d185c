internal import CFetchIndexLMDB
internal import Synchronization

extension Environment {
    /// The sizes of the map and of a page in bytes, the number of used pages, the last transaction, and the readers.
    /// mdb_env_info, mdb_stat
    package struct Information: Sendable {
        package let mapSize: Int
        package let pageSize: Int
        /// The number of pages of the newest state, with its free ones.
        package let usedPages: Int
        package let lastTransaction: Int
        /// The number of reader slots that have been used; LMDB doesn't lower it when readers end.
        package let readers: Int
        package let maximumReaders: Int
    }

    package func information() throws -> Information {
        if let file = newestFile() { return file.information }
        // mdb_env_info reads the map, which isn't moved while this lock is held.
        return try openTransactions.withLock { _ in
            try checkMap()
            var info = MDB_envinfo()
            try check(mdb_env_info(handle, &info))
            var stat = MDB_stat()
            try check(mdb_env_stat(handle, &stat))
            return Information(
                mapSize: info.me_mapsize, pageSize: Int(stat.ms_psize), usedPages: info.me_last_pgno + 1,
                lastTransaction: info.me_last_txnid, readers: Int(info.me_numreaders),
                maximumReaders: Int(info.me_maxreaders))
        }
    }

    /// The minimum length of a value that LMDB stores on overflow pages.
    package func shortestOverflowValue(keyLength: Int) -> Int {
        format.longestNode - Page.Node.headerLength - format.layout.storedKeyLength(keyLength) + 1
    }

    /// A reader of the environment in any process. mdb_reader_list
    package struct Reader: Sendable {
        package let process: Int
        /// The transaction that the reader pins; nil if it has no transaction at present.
        package let transaction: Int?
    }

    package func readers() throws -> [Reader] {
        if handle == nil { return [] }
        let lines = ReaderLines()
        let context = Unmanaged.passUnretained(lines).toOpaque()
        let code = mdb_reader_list(
            handle,
            { line, context in
                guard let line, let context else { return 0 }
                Unmanaged<ReaderLines>.fromOpaque(context).takeUnretainedValue().text += String(cString: line)
                return 0
            }, context)
        if code < 0 { throw LMDBError(rawValue: code) }
        return lines.text.split(separator: "\n").compactMap { line in
            let columns = line.split(separator: " ")
            guard columns.count == 3, let process = Int(columns[0]) else { return nil }
            return Reader(process: process, transaction: Int(columns[2]))
        }
    }
}

private final class ReaderLines { var text = "" }
