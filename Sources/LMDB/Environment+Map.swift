internal import CFetchIndexLMDB
internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import Synchronization

/// Thrown when a write reaches the end of the map. Its transaction can't be committed any more; earlier commits are
/// intact.
package struct MapFull: Error, Equatable, CustomStringConvertible {
    package let mapSize: Int
    /// The number of this process's other open transactions: the map can't grow while there are any.
    package let otherTransactions: Int

    package var reason: String {
        otherTransactions == 0
            ? "the map of \(mapSize) bytes is full; the next transaction enlarges it"
            : "the map of \(mapSize) bytes is full; the next transaction enlarges it once no snapshot is open in this process (now \(otherTransactions))"
    }

    package var description: String { "nothing of this transaction was saved: \(reason)" }
}

extension Environment {
    private static let smallestGrowth = 1 << 20

    /// The environment of a transaction; it lives as long as the transaction.
    static func of(_ transaction: OpaquePointer) -> Environment? {
        mdb_env_get_userctx(mdb_txn_env(transaction)).map {
            Unmanaged<Environment>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// Notes that a transaction has written. Called after each write, so it must cost next to nothing.
    static func noteWrite(in transaction: OpaquePointer?) {
        guard let context = mdb_env_get_userctx(mdb_txn_env(transaction)) else { return }
        Unmanaged<Environment>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.hasWritten.store(true, ordering: .relaxed)
        }
    }

    /// Whether the process has a file size limit. Called before each write, so it must cost next to nothing.
    static func hasFileSizeLimit(_ transaction: OpaquePointer?) -> Bool {
        guard let context = mdb_env_get_userctx(mdb_txn_env(transaction)) else { return true }
        return Unmanaged<Environment>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.hasFileSizeLimit.load(ordering: .relaxed)
        }
    }

    /// Like `check`, for calls that write. Remembers a full map, so that the next transaction enlarges it.
    func checkWrite(_ code: CInt) throws {
        // A write for which the disk has no room is short, which LMDB reports as EIO.
        if code == EIO, isDiskFull { throw LMDBError(rawValue: ENOSPC) }
        if code == EIO, isFileFull { throw LMDBError(rawValue: EFBIG) }
        guard code == MDB_MAP_FULL else { return try check(code) }
        isMapFull.store(true, ordering: .relaxed)
        throw openTransactions.withLock { count in
            var info = MDB_envinfo()
            mdb_env_info(handle, &info)
            return MapFull(mapSize: info.me_mapsize, otherTransactions: max(0, count - 1))
        }
    }

    /// Whether the file system has no room for a few more pages.
    private var isDiskFull: Bool {
        var status = statvfs()
        return statvfs(path, &status) == 0 && UInt64(status.f_bavail) * UInt64(status.f_frsize) < Self.leastRoom
    }

    private static let leastRoom: UInt64 = 1 << 18

    /// Whether another page would exceed the process's file size limit.
    private var isFileFull: Bool {
        guard let most = FileSizeLimit.bytes else { return false }
        var status = stat()
        return stat(path + "/data.mdb", &status) == 0 && Int(status.st_size) + pageSize > most
    }

    /// Throws if the map is lost.
    func checkMap() throws(LMDBError) {
        if hasLostMap.load(ordering: .relaxed) { throw LMDBError(rawValue: ENOMEM) }
    }

    /// Enlarges the map if a write found it full, or more than three quarters of it are used.
    func makeRoom() {
        remap { info in
            let used = (info.me_last_pgno + 1) * pageSize
            let isNeeded = isMapFull.load(ordering: .relaxed) || used > info.me_mapsize / 4 * 3
            return isNeeded ? info.me_mapsize * 2 : nil
        }
    }

    /// Adopts the map size of another process that wrote past the end of this map. Returns false if another transaction
    /// of this process could see the map move.
    func followMap() -> Bool {
        remap(besides: 1) { info in max(info.me_mapsize * 2, (info.me_last_pgno + 1) * pageSize * 2) }
    }

    /// Maps the file again, so that its pages no longer count as this process's memory: otherwise a long import would
    /// seem to hold the whole file. Returns false if a transaction of this process is open.
    @discardableResult
    package func releasePages() -> Bool { remap { $0.me_mapsize } }

    /// mdb_env_set_mapsize, if exactly `own` transactions are open, so that no other one sees the map move. Returns
    /// false if the map stays as it is: others are open, the address space is lacking, or `size` returns nil.
    @discardableResult
    private func remap(besides own: Int = 0, to size: (MDB_envinfo) -> Int?) -> Bool {
        openTransactions.withLock { count in
            var info = MDB_envinfo()
            guard count == own, !hasLostMap.load(ordering: .relaxed), mdb_env_info(handle, &info) == MDB_SUCCESS,
                var wanted = size(info)
            else { return false }
            // LMDB unmaps the file before it asks for the new map, and can't go back.
            while !Self.hasRoom(for: wanted - info.me_mapsize) {
                wanted = info.me_mapsize + (wanted - info.me_mapsize) / 2
                if wanted - info.me_mapsize < Self.smallestGrowth { return false }
            }
            let code = mdb_env_set_mapsize(handle, wanted)
            guard code == MDB_SUCCESS else {
                // LMDB refuses during its own write transaction, and keeps the map.
                if code != EINVAL { hasLostMap.store(true, ordering: .relaxed) }
                return false
            }
            if wanted > info.me_mapsize { isMapFull.store(false, ordering: .relaxed) }
            return true
        }
    }

    /// Whether the system would map this many more bytes.
    package static func hasRoom(for byteCount: Int) -> Bool {
        guard byteCount > 0 else { return true }
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        guard let room = mmap(nil, byteCount, PROT_READ, flags, -1, 0), room != MAP_FAILED else { return false }
        munmap(room, byteCount)
        return true
    }

    private var pageSize: Int {
        var stat = MDB_stat()
        return mdb_env_stat(handle, &stat) == MDB_SUCCESS ? Int(stat.ms_psize) : 4096
    }
}
