internal import FetchIndexOrderCaches
internal import FetchIndexModels
internal import FetchIndexRecords

/// A view of the store in one state, together with unsaved edits.
///
/// A context and its objects belong to one isolation domain. The whole context advances to a newer state when it saves,
/// merges or executes a batch request, and when a controller fetches outside of a delivery. Until then the pages of its
/// state are pinned.
public final class ManagedObjectContext {
    /// The shared state of the context and its objects.
    let core: ContextCore
    /// Objects with unsaved or unprocessed edits, which the context retains. The core doesn't retain them, because they
    /// retain the core.
    var edited: [RecordKey: ManagedObject] = [:]
    /// The undo stack. It retains the objects whose edits it has recorded, and is released with the context.
    var undoStack = UndoStack()

    init(_ core: ContextCore) {
        self.core = core
        undoStack.isEnabled = core.isUndoEnabled
        core.know(self)
    }

    // MARK: State

    public var container: PersistentContainer { core.container }

    /// The author of this context's saves, as the store's history shows it.
    public var transactionAuthor: String {
        get { core.transactionAuthor }
        set { core.transactionAuthor = newValue }
    }

    public var mergePolicy: MergePolicy {
        get { core.mergePolicy }
        set { core.mergePolicy = newValue }
    }

    /// The rule by which a save handles a new object that has the same unique value as a stored object of its entity.
    /// If `.update`, the stored object takes the values that were set on the new object, including nulls, and keeps its
    /// other values. Defaults, and values set in `awakeFromInsert`, don't count as set. The new object then represents
    /// the stored object and has its id. If the stored object is already registered in the context, the registered
    /// object takes the values, and the new object leaves the context: its `managedObjectContext` is nil. Such a save
    /// empties the undo stack. Two new objects of a save with the same unique value are always an error.
    public var onUniqueConflict: UniqueConflictPolicy {
        get { core.onUniqueConflict }
        set { core.onUniqueConflict = newValue }
    }

    /// The maximum time for which a save or a batch waits for another writer; nil for no limit. After that time it
    /// throws `StoreError.writerBusy`, and the store stays unchanged.
    public var writeTimeout: Duration? {
        get { core.writeTimeout }
        set { core.writeTimeout = newValue }
    }

    /// The first error that a call couldn't throw, if any: usually damage of the store.
    public var damage: (any Error)? { core.damage }

    var delivery: Delivery { core.delivery }

    /// The model of the context's state; if the state can't be read, the stored model from when the container was
    /// opened.
    var model: Model { core.model }

    /// The number of the commit whose state the context shows. Throws `StoreError`.
    public var commit: UInt64 { get throws { try withPublicErrors { try snapshot().commit } } }

    /// The snapshot that the context reads. The first call takes the newest state; later calls return a snapshot of the
    /// same state until the context advances.
    func snapshot() throws -> Snapshot { try core.snapshot() }

    func note(_ error: any Error) { core.note(error) }

    // MARK: Followers

    func follow(_ follower: any ContextFollower) {
        core.followers.removeAll { $0.follower == nil || $0.follower === follower }
        core.followers.append(ContextCore.WeakFollower(follower: follower))
    }

    var liveFollowers: [any ContextFollower] {
        core.followers.compactMap { if let follower = $0.follower, follower.isLive { follower } else { nil } }
    }

    /// The caches of the live controllers, without duplicates.
    var followedCaches: [CacheRequest] {
        var names: Set<String> = []
        return liveFollowers.compactMap(\.followed).filter { names.insert($0.name).inserted }
    }

    /// Calls `step` for each live follower, then delivers each follower's change.
    func deliver(_ step: (any ContextFollower) -> Void) {
        let followers = liveFollowers
        for follower in followers { step(follower) }
        delivery.deliver { for follower in followers { follower.deliver() } }
        core.edits.didDeliver()
    }
}
