package import FetchIndexPlatform
public import FetchIndexModels
public import FetchIndexValues

/// An error of a store, or of a request to it.
public enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The path doesn't lead to a store.
    case missing(path: String)
    /// The path leads to something that isn't a store; the text says why.
    case notAStore(path: String, String)
    /// The system refuses access to the path; the text says why.
    case inaccessible(path: String, String)
    case newerFormat(found: Int, supported: Int)
    case olderFormat(found: Int, supported: Int)
    /// Bytes in the store are damaged; the text says what and where.
    case corrupted(String)
    case readOnly
    /// The model doesn't have the entity. `near` is a similar name that may be meant.
    case unknownEntity(String, near: NearName = NearName())
    case unknownAttribute(entity: String, attribute: String, near: NearName = NearName())
    /// The stored entity cannot become the given one; the text says why.
    case modelMismatch(entity: String, String)
    /// Objects prevent a migration; the text says why, and the first objects are named.
    case cannotMigrate(entity: String, attribute: String, String, objects: [ObjectID])
    case invalidModel(String)
    /// The entity is abstract: insert objects of its subentities.
    case abstractEntity(String)
    case invalidValue(entity: String, attribute: String, String)
    /// Another object has this value of a unique attribute.
    case notUnique(entity: String, attribute: String, value: String)
    /// An object can't be deleted while others are linked to it: its relationship has the rule ``DeleteRule/deny``.
    case deletionDenied(object: String, relationship: String, by: String)
    /// A unique value is too long: it is stored as a key of LMDB, which has at most 511 bytes.
    case uniqueValueTooLong(entity: String, attribute: String)
    case unknownObject(String)
    /// The change log was trimmed and no longer holds the changes after this commit.
    case logTooShort(commit: UInt64)
    /// The disk is full or fails, so that nothing of a transaction was saved; the text is the system's. The store is
    /// unchanged, and can be written when the disk has room again.
    case notSaved(String)
    /// The disk failed in the last step of a commit, the one write that LMDB cannot undo. The transaction was saved as
    /// a whole or not at all. Opening the store again shows which; release this process's containers and contexts
    /// first.
    case mustBeReopened
    /// The store's folder or files were moved or replaced while this process had them open: other processes would not
    /// find what it wrote. Release the process's containers and contexts, then open the store again.
    case moved(path: String)
    /// Another writer, of this process or another, did not finish within the time limit.
    case writerBusy
    /// The URL of a store is not a file URL.
    case notAFileURL(String)
    /// A transaction is used on another thread than the one that began it.
    case wrongThread
    /// The thread already has a write transaction of the store open: waiting for it would be a deadlock.
    case wouldWaitForItself
    /// The name of a cache doesn't have 1 to 511 bytes of UTF-8, or begins like the name of an index.
    case invalidCacheName(String)
    /// No cache has the name.
    case unknownCache(String, near: NearName = NearName())
    /// The cache of this name is locked and can't be deleted, or it belongs to another request and is locked or must
    /// not be replaced.
    case cacheLocked(String)
    /// The store can neither be read nor written now, for example because LMDB's reader table is full; the text says
    /// why.
    case unavailable(String)

    public var description: String {
        switch self {
        case .missing(let path): "there is no store at \(path)"
        case .notAStore(let path, let reason): "\(path) is not a FetchIndex store: \(reason)"
        case .inaccessible(let path, let reason): "the store \(path) cannot be opened: \(reason)"
        case .newerFormat(let found, let supported):
            "the store has format version \(found); this FetchIndex reads versions up to \(supported)"
        case .olderFormat(let found, let supported):
            "the store has format version \(found), and this FetchIndex reads version \(supported): create the store again from its source data"
        case .corrupted(let what): "the store is damaged: \(what)"
        case .readOnly: "the store is open for reading only"
        case .unknownEntity(let name, let near): "\(ModelError.unknownEntity(name, near: near))"
        case .unknownAttribute(let entity, let attribute, let near):
            "\(ModelError.unknownAttribute(entity: entity, attribute: attribute, near: near))"
        case .modelMismatch(let entity, let reason): "\(ModelError.mismatch(entity: entity, reason))"
        case .cannotMigrate(let entity, let attribute, let reason, let objects):
            "\(entity) cannot be migrated: \(attribute) of "
                + objects.map { "\($0)" }.joined(separator: ", ") + " \(reason); nothing was changed"
        case .invalidModel(let reason): "\(ModelError.invalid(reason))"
        case .abstractEntity(let name): "\(name) is abstract: only objects of its subentities can be inserted"
        case .invalidValue(let entity, let attribute, let reason): "\(entity).\(attribute) \(reason)"
        case .notUnique(let entity, let attribute, let value):
            "\(entity).\(attribute) must be unique, but another object has \"\(value)\""
        case .uniqueValueTooLong(let entity, let attribute):
            "a value of \(entity).\(attribute) is too long: a unique value has at most 500 bytes, and each zero byte among them counts twice"
        case .unknownObject(let id): "there is no object \(id)"
        case .deletionDenied(let object, let relationship, let other):
            "\(object) cannot be deleted while \(other) is one of its \(relationship)"
        case .notSaved(let reason):
            "the store's file cannot be written, and nothing of this transaction was saved: \(reason)"
        case .mustBeReopened:
            "a commit failed in its last step, and the store must be closed by this process and opened again"
        case .moved(let path):
            "the files of the store \(path) were moved or replaced while this process had them open"
        case .writerBusy: "another writer of the store did not finish in time"
        case .notAFileURL(let url): "a store is a folder of this machine, but \(url) is not a file URL"
        case .wrongThread: "a write transaction ends on the thread that began it"
        case .wouldWaitForItself:
            "this thread has a write transaction of the store open already; a second one would wait forever"
        case .cacheLocked(let name):
            "the cache \"\(name)\" is locked, so another request cannot replace it and it cannot be deleted; unlock it, or use another name"
        case .unknownCache(let name, let near): "there is no cache \"\(name)\" in the store\(near.hint)"
        case .invalidCacheName(let name):
            (1...511).contains(name.utf8.count)
                ? "\"\(name)\" is the name of an index"
                : "a cache's name has 1 to 511 bytes of UTF-8; \"\(name)\" has \(name.utf8.count)"
        case .unavailable(let reason): "the store can neither be read nor written now: \(reason)"
        case .logTooShort(let commit): "the change log no longer has the changes after commit \(commit)"
        }
    }
}

extension StoreError: DamageReporting {
    package var isDamage: Bool { if case .corrupted = self { true } else { false } }
}

extension ByteReader {
    /// Creates a reader that throws `StoreError.corrupted` if the bytes' format is wrong. `subject` names the bytes in
    /// the error.
    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan, _ subject: @escaping @autoclosure () -> String) {
        self.init(bytes, subject: subject) { StoreError.corrupted($0) }
    }

    /// Creates a reader of bytes that end with a checksum XOR `other`. Throws `StoreError.corrupted` if the checksum
    /// doesn't match.
    @_lifetime(copy bytes)
    package init(
        checked bytes: RawSpan, with other: UInt32 = 0, _ subject: @escaping @autoclosure () -> String
    ) throws {
        try self.init(checked: bytes, with: other, subject: subject) { StoreError.corrupted($0) }
    }
}

extension StoreError {
    /// Whether the values of a single object caused the error, so that other objects may still be written.
    package var isOfValues: Bool {
        switch self {
        case .notUnique, .uniqueValueTooLong, .invalidValue: true
        default: false
        }
    }
}
