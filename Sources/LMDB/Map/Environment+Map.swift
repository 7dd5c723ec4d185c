internal import CFetchIndexLMDB
internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import Synchronization

/// Thrown when a write reaches the end of the map. The transaction of that write can no longer be committed; earlier
/// commits are intact.
package struct MapFull: Error, Equatable, CustomStringConvertible {
    package let mapSize: Int
    /// The number of other transactions that this process has open. The map can't grow until they end.
    package let otherTransactions: Int

    package var reason: String {
        otherTransactions == 0
            ? "the map of \(mapSize) bytes is full; the next transaction tries to enlarge it"
            : "the map of \(mapSize) bytes is full; a transaction can enlarge it once no snapshot is open in this process (open now: \(otherTransactions))"
    }

    package var description: String { "nothing of this transaction was saved: \(reason)" }
}

extension Environment {
    private static let smallestGrowth = 1 << 20

    /// The environment of a transaction, valid until the transaction ends; nil for a transaction of `write(toFile:)`,
    /// which has no `Environment`.
    static func of(_ transaction: OpaquePointer) -> Environment? {
        mdb_env_get_userctx(mdb_txn_env(transaction)).map {
            Unmanaged<Environment>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// Records that a transaction has written. It runs after each write, so it must be fast.
    static func noteWrite(in transaction: OpaquePointer?) {
        guard let context = mdb_env_get_userctx(mdb_txn_env(transaction)) else { return }
        Unmanaged<Environment>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.hasWritten.store(true, ordering: .relaxed)
        }
    }

    /// Whether the process had a file size limit when its write transaction began; true if that isn't known. It runs
    /// before each write, so it must be fast.
    static func hasFileSizeLimit(_ transaction: OpaquePointer?) -> Bool {
        guard let context = mdb_env_get_userctx(mdb_txn_env(transaction)) else { return true }
        return Unmanaged<Environment>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.hasFileSizeLimit.load(ordering: .relaxed)
        }
    }

    /// Throws if a call that writes has failed, like `check`. If the map is full, throws `MapFull`, and sets
    /// `isMapFull`, so that a later transaction enlarges the map.
    func checkWrite(_ code: CInt) throws {
        if LMDBError(rawValue: code).isIncompleteWrite {
            if isDiskFull { throw LMDBError(rawValue: ENOSPC) }
            if isFileFull { throw LMDBError(rawValue: EFBIG) }
        }
        guard code == MDB_MAP_FULL else { return try check(code) }
        isMapFull.store(true, ordering: .relaxed)
        throw openTransactions.withLock { count in
            var info = MDB_envinfo()
            mdb_env_info(handle, &info)
            return MapFull(mapSize: info.me_mapsize, otherTransactions: max(0, count - 1))
        }
    }

    /// Whether the file system has less than `leastRoom` bytes free.
    private var isDiskFull: Bool {
        var status = statvfs()
        return statvfs(path, &status) == 0 && UInt64(status.f_bavail) * UInt64(status.f_frsize) < Self.leastRoom
    }

    private static let leastRoom: UInt64 = 1 << 18

    /// Whether the data file can't grow by one more page within the process's file size limit.
    private var isFileFull: Bool {
        guard let most = FileSizeLimit.bytes else { return false }
        var status = stat()
        return stat(EnvironmentFiles.data(in: path), &status) == 0 && Int(status.st_size) + format.pageLength > most
    }

    /// Throws if the system refused to map the file again. The environment can't be accessed any more in that case.
    func checkMap() throws(LMDBError) {
        if hasLostMap.load(ordering: .relaxed) { throw LMDBError(rawValue: ENOMEM) }
    }

    /// Doubles the map if a write found it full, or if more than three quarters of it are used. If address space is
    /// scarce, the map grows by less or not at all. Does nothing while a transaction of this process is open.
    func makeRoom() {
        remap { info in
            let used = (info.me_last_pgno + 1) * format.pageLength
            let isNeeded = isMapFull.load(ordering: .relaxed) || used > info.me_mapsize / 4 * 3
            return isNeeded ? info.me_mapsize * 2 : nil
        }
    }

    /// Enlarges the map after another process has written past its end. Returns false if that isn't possible, for
    /// example because this process has another open transaction.
    func followMap() -> Bool {
        remap(besides: 1) { info in max(info.me_mapsize * 2, (info.me_last_pgno + 1) * format.pageLength * 2) }
    }

    /// Maps the file again, so that its pages no longer count as this process's memory. Otherwise a long import would
    /// appear to hold the whole file in memory. Returns false if the file isn't mapped again, for example because a
    /// transaction of this process is open.
    @discardableResult
    package func releasePages() -> Bool { remap { $0.me_mapsize } }

    /// Changes the map's size if exactly `own` transactions of this process are open or being begun: the map would move
    /// under any other transaction. Returns false if the size wasn't set, for example because another number of
    /// transactions is open, address space is lacking, the system refuses, or `size` returns nil. mdb_env_set_mapsize
    @discardableResult
    private func remap(besides own: Int = 0, to size: (MDB_envinfo) -> Int?) -> Bool {
        guard let handle else { return false }
        return openTransactions.withLock { count in
            var info = MDB_envinfo()
            guard count == own, !hasLostMap.load(ordering: .relaxed), mdb_env_info(handle, &info) == MDB_SUCCESS,
                var wanted = size(info)
            else { return false }
            // LMDB unmaps the file before it requests the new map, and can't restore the old one. So the room is
            // checked first.
            while !Self.hasRoom(for: wanted - info.me_mapsize) {
                wanted = info.me_mapsize + (wanted - info.me_mapsize) / 2
                if wanted - info.me_mapsize < Self.smallestGrowth { return false }
            }
            sharedReading.withLock { $0.forgetMap() }
            let code = mdb_env_set_mapsize(handle, wanted)
            guard code == MDB_SUCCESS else {
                // During its own write transaction LMDB refuses with EINVAL, and keeps the map. After any other error
                // the file is unmapped.
                if code != EINVAL { hasLostMap.store(true, ordering: .relaxed) }
                return false
            }
            if wanted > info.me_mapsize { isMapFull.store(false, ordering: .relaxed) }
            return true
        }
    }

    /// Whether the system would map `byteCount` more bytes.
    package static func hasRoom(for byteCount: Int) -> Bool {
        guard byteCount > 0 else { return true }
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        guard let room = mmap(nil, byteCount, PROT_READ, flags, -1, 0), room != MAP_FAILED else { return false }
        munmap(room, byteCount)
        return true
    }
}
