package import FetchIndexPlatform
public import FetchIndexModels
public import FetchIndexValues

/// An error of a store, or of a request to it.
public enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The path doesn't lead to a store.
    case missing(path: String)
    /// The path leads to something that isn't a store; the text says why.
    case notAStore(path: String, String)
    /// The store at the path, or a file in its folder, can't be opened; the text says why.
    case inaccessible(path: String, String)
    /// The store's file has the layout of another version of LMDB than this program's, and must be converted first; the
    /// text names the versions. Until then it can be opened for reading only, but not copied.
    case otherLMDBVersion(path: String, String)
    case newerFormat(found: Int, supported: Int)
    case olderFormat(found: Int, supported: Int)
    /// Data in the store are damaged or missing; the text says what.
    case corrupted(String)
    case readOnly
    /// The model doesn't have the entity. `near` has a similar name that may be meant, if any.
    case unknownEntity(String, near: NearName = NearName())
    case unknownAttribute(entity: String, attribute: String, near: NearName = NearName())
    /// The stored entity cannot become the given one; the text says why.
    case modelMismatch(entity: String, String)
    /// Objects prevent a migration; the text says why, and `objects` are some of them.
    case cannotMigrate(entity: String, attribute: String, String, objects: [ObjectID])
    case invalidModel(String)
    /// The entity is abstract: insert objects of its subentities.
    case abstractEntity(String)
    case invalidValue(entity: String, attribute: String, String)
    /// Another object has this value, which must be unique.
    case notUnique(entity: String, attribute: String, value: String)
    /// An object can't be deleted while other objects are linked to it, because its relationship has the rule
    /// ``DeleteRule/deny``.
    case deletionDenied(object: String, relationship: String, by: String)
    /// A unique value is too long: its unique key would exceed 511 bytes, the limit of LMDB. A single value of up to
    /// 500 bytes without zero bytes always fits.
    case uniqueValueTooLong(entity: String, attribute: String)
    case unknownObject(String)
    /// The change log lacks this commit, or commits after it, for example because the log was trimmed.
    case logTooShort(commit: UInt64)
    /// A transaction couldn't be written, or keys couldn't be sorted, for example because the disk is full or fails;
    /// the text says why. Nothing of the transaction was saved. Try again once the cause is gone.
    case notSaved(String)
    /// A commit failed in its last step, the one write that LMDB cannot undo. The transaction was saved as a whole or
    /// not at all. Opening the store again shows which; release this process's containers and contexts first.
    case mustBeReopened
    /// The store's folder or files were moved or replaced while this process had them open. If it went on writing,
    /// other processes would not find its changes. Release the process's containers and contexts, then open the store
    /// again.
    case moved(path: String)
    /// Another writer, of this process or another, did not finish within the time limit.
    case writerBusy
    /// A write transaction is used on a thread other than the one that began it.
    case wrongThread
    /// The thread, or a thread that waits for this one, already has a write transaction of the store open. Waiting for
    /// the transaction would be a deadlock.
    case wouldWaitForItself
    /// The name of a bookmark is empty, longer than 511 bytes of UTF-8, or begins with a digit, like a commit or a time;
    /// or it has a control character, or a space at one of its ends.
    case invalidBookmarkName(String)
    case unknownBookmark(String)
    /// The bookmark was moved or deleted while a reader used it.
    case bookmarkMoved(String)
    /// An operation of LMDB failed, for example because its reader table is full; the text says why.
    case unavailable(String)

    public var description: String {
        // A sentence for each case.
        switch self {
        case .missing(let path): "there is no store at \(path)"
        case .notAStore(let path, let reason): "\(path) is not a FetchIndex store: \(reason)"
        case .inaccessible(let path, let reason): "the store \(path) cannot be opened: \(reason)"
        case .otherLMDBVersion(let path, let reason):
            "the store \(path) must be converted first: \(reason)"
        case .newerFormat(let found, let supported):
            "the store has format version \(found); this FetchIndex reads versions up to \(supported)"
        case .olderFormat(let found, let supported):
            "the store has format version \(found); this FetchIndex reads only newer versions, up to \(supported): create the store again from its source data"
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
            "a value of \(entity).\(attribute) is too long: its unique key would exceed 511 bytes (a single value of up to 500 bytes without zero bytes always fits)"
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
        case .wrongThread: "a write transaction can only be used on the thread that began it"
        case .wouldWaitForItself:
            "this thread has a write transaction of the store open already; a second one would wait forever"
        case .invalidBookmarkName(let name):
            "a bookmark's name has 1 to 511 bytes of UTF-8, does not begin with a digit, and has no control characters or spaces around it; \"\(name)\" cannot be one"
        case .unknownBookmark(let name): "there is no bookmark \"\(name)\" in the store"
        case .bookmarkMoved(let name): "the bookmark \"\(name)\" was moved or deleted meanwhile, and stays as it is"
        case .unavailable(let reason): "the store cannot be used now: \(reason)"
        case .logTooShort(let commit): "the change log does not have all changes since commit \(commit)"
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

    /// Creates a reader of bytes that end with their checksum, XORed with `other`. Throws `StoreError.corrupted` if the
    /// checksum doesn't match.
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
