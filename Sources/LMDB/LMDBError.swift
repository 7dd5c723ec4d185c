internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import CFetchIndexLMDB

/// An error code of LMDB or of the system.
package struct LMDBError: Error, RawRepresentable, Hashable, Sendable {
    package let rawValue: CInt

    package init(rawValue: CInt) { self.rawValue = rawValue }

    package static let invalidFile = LMDBError(rawValue: MDB_INVALID)
    package static let versionMismatch = LMDBError(rawValue: MDB_VERSION_MISMATCH)
    package static let corrupted = LMDBError(rawValue: MDB_CORRUPTED)
    package static let keyExists = LMDBError(rawValue: MDB_KEYEXIST)
    package static let permissionDenied = LMDBError(rawValue: EACCES)
    package static let badDescriptor = LMDBError(rawValue: EBADF)
    package static let busy = LMDBError(rawValue: EBUSY)
    /// The error that LMDB returns while it makes a compact copy, if a page is neither used nor free.
    package static let leaked = LMDBError(rawValue: MDB_INCOMPATIBLE)
    package static let readOnlyFileSystem = LMDBError(rawValue: EROFS)
    package static let badTransaction = LMDBError(rawValue: MDB_BAD_TXN)
    /// Other processes may have overwritten pages of a state that is read without a lock. This code isn't one of LMDB's.
    static let overtaken = LMDBError(rawValue: -1)
    // Codes that only LMDB 1.0 has.
    static let badChecksum: CInt = -30778
    package static let wrongChecksum = LMDBError(rawValue: badChecksum)
    private static let problem: CInt = -30779
    private static let shortWrite: CInt = -30772
    package static let tableNotFound = LMDBError(rawValue: MDB_NOTFOUND)
    /// A fatal error, for example because a meta page couldn't be written. The environment can't be used until all its
    /// owners in this process have closed it.
    package static let panic = LMDBError(rawValue: MDB_PANIC)

    /// Whether the code is taken as a sign of damaged pages.
    package var isDamage: Bool {
        [MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_CURSOR_FULL, MDB_INCOMPATIBLE, Self.badChecksum, Self.problem]
            .contains(rawValue)
    }

    /// Whether the code is taken as a sign of a failed write to a file.
    package var isFailedWrite: Bool { [ENOSPC, EFBIG, EDQUOT].contains(rawValue) || isIncompleteWrite }

    /// Whether fewer bytes may have been written than requested, for example because the disk is full. LMDB 0.9 reports
    /// that as EIO, which can have other causes, LMDB 1.0 as MDB_SHORT_WRITE.
    var isIncompleteWrite: Bool { [EIO, Self.shortWrite].contains(rawValue) }
}

extension LMDBError: CustomStringConvertible {
    /// The text of the system's error or of mdb_strerror. Some errors get another text, which needs no knowledge of
    /// LMDB.
    package var reason: String {
        if rawValue == MDB_MAP_RESIZED {
            return
                "another process enlarged the store; this process can use it again once no snapshot is open in this process"
        }
        if self == .overtaken {
            return "other processes wrote the file while it was read without a lock; try again"
        }
        if self == .wrongChecksum { return "the checksum of a page is wrong" }
        if self == .badTransaction { return "an earlier error ended the transaction" }
        if rawValue == ENOMEM {
            return "the system gives this process no more memory or address space to map the file (ulimit -v)"
        }
        // LMDB's own codes are negative, errnos are positive.
        if rawValue > 0 { return SystemError(rawValue: rawValue).description }
        return String(cString: mdb_strerror(rawValue))
    }

    /// One sentence for users. For a failed write, the sentence says that the transaction isn't saved.
    package var description: String {
        if isFailedWrite {
            return "the store's file cannot be written, and nothing of this transaction was saved: \(reason)"
        }
        return isDamage ? "the store is damaged: a page of its file is not as LMDB writes it (\(reason))" : reason
    }
}

extension LMDBError: DamageReporting {
    /// Converts an error of LMDB or of the system; nil for other errors.
    package init?(_ error: any Error) {
        switch error {
        case let error as LMDBError: self = error
        case let error as SystemError: self.init(rawValue: error.rawValue)
        default: return nil
        }
    }
}

/// Runs a body, and converts the system errors that it throws to LMDB errors, whose codes include errnos.
func withSystemErrors<Value: ~Copyable>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as SystemError { throw LMDBError(rawValue: error.rawValue) }
}

/// Throws unless a return code means success.
func check(_ code: CInt) throws(LMDBError) {
    if code != MDB_SUCCESS { throw LMDBError(rawValue: code) }
}

/// Like `check`, but returns false if the code says that the key is missing.
func checkFound(_ code: CInt) throws(LMDBError) -> Bool {
    if code == MDB_NOTFOUND { return false }
    try check(code)
    return true
}

/// Runs a call that writes. If the process may have a file size limit, the signal of that limit is blocked during the
/// call: LMDB writes pages of a large transaction already before its commit.
func write(in transaction: OpaquePointer?, _ call: () -> CInt) -> CInt {
    Environment.hasFileSizeLimit(transaction) ? FileSizeLimit.withoutSignal(call) : call()
}

/// Like `check`, for calls that write in a transaction. Records that the transaction has written.
func check(_ code: CInt, writtenIn transaction: OpaquePointer?) throws {
    guard let transaction else { throw LMDBError.permissionDenied }
    if code != MDB_SUCCESS, let environment = Environment.of(transaction) { try environment.checkWrite(code) }
    try check(code)
    Environment.noteWrite(in: transaction)
}
