internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import CFetchIndexLMDB

/// An error of LMDB or of the system below it: the raw code that a C call returned.
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
    /// The error of a compact copy for a page that is neither used nor free.
    package static let leaked = LMDBError(rawValue: MDB_INCOMPATIBLE)
    package static let readOnlyFileSystem = LMDBError(rawValue: EROFS)
    package static let badTransaction = LMDBError(rawValue: MDB_BAD_TXN)
    package static let tableNotFound = LMDBError(rawValue: MDB_NOTFOUND)
    /// The meta page couldn't be written: the environment does nothing more until all its owners in this process have
    /// closed it.
    package static let panic = LMDBError(rawValue: MDB_PANIC)

    /// Whether LMDB met pages that it cannot have written.
    package var isDamage: Bool {
        [MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_CURSOR_FULL, MDB_INCOMPATIBLE].contains(rawValue)
    }

    /// Whether the system couldn't write a file. LMDB reports a short write, as on a full disk, as EIO.
    package var isFailedWrite: Bool { [ENOSPC, EFBIG, EDQUOT, EIO].contains(rawValue) }
}

extension LMDBError: CustomStringConvertible {
    /// mdb_strerror, except where its text uses LMDB's own terms.
    package var reason: String {
        if rawValue == MDB_MAP_RESIZED {
            return "another process enlarged the store; this process can use it again once no snapshot is open in it"
        }
        if self == .badTransaction { return "an earlier error ended the transaction" }
        if rawValue == ENOMEM {
            return "the system gives this process no more addresses or memory to map the file to (ulimit -v)"
        }
        // LMDB's own codes are negative.
        if rawValue > 0 { return SystemError(rawValue: rawValue).description }
        return String(cString: mdb_strerror(rawValue))
    }

    /// One sentence for users. A failed write ends its transaction.
    package var description: String {
        if isFailedWrite {
            return "the store's file cannot be written, and nothing of this transaction was saved: \(reason)"
        }
        return isDamage ? "the store is damaged: LMDB met a page that it cannot have written (\(reason))" : reason
    }
}

extension LMDBError: DamageReporting {
    /// Converts an error of LMDB or of the system; nil for any other error.
    package init?(_ error: any Error) {
        switch error {
        case let error as LMDBError: self = error
        case let error as SystemError: self.init(rawValue: error.rawValue)
        default: return nil
        }
    }
}

/// Rethrows system errors as LMDB errors, whose codes include errnos.
func withSystemErrors<Value: ~Copyable>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as SystemError { throw LMDBError(rawValue: error.rawValue) }
}

/// Throws unless a return code is success; the one place that looks at return codes.
func check(_ code: CInt) throws(LMDBError) {
    if code != MDB_SUCCESS { throw LMDBError(rawValue: code) }
}

/// Like `check`, for lookups: returns false if the key is missing.
func checkFound(_ code: CInt) throws(LMDBError) -> Bool {
    if code == MDB_NOTFOUND { return false }
    try check(code)
    return true
}

/// Runs a call that writes in a transaction: one that has changed many pages writes some of them early.
func write(in transaction: OpaquePointer?, _ call: () -> CInt) -> CInt {
    Environment.hasFileSizeLimit(transaction) ? FileSizeLimit.withoutSignal(call) : call()
}

/// Like `check`, for calls that write in a transaction.
func check(_ code: CInt, writtenIn transaction: OpaquePointer) throws {
    if code != MDB_SUCCESS, let environment = Environment.of(transaction) { try environment.checkWrite(code) }
    try check(code)
    Environment.noteWrite(in: transaction)
}
