internal import FetchIndexOrderCaches
internal import FetchIndexModels
internal import FetchIndexRecords

/// A view of the store in one state, together with unsaved edits.
///
/// A context and its objects belong to one isolation domain. The whole context advances to a newer state when it saves,
/// when it merges, and when a controller fetches. Until then the pages of its state are pinned.
public final class ManagedObjectContext {
    /// The shared state of the context and its objects.
    let core: ContextCore
    /// The objects with unsaved or unprocessed edits, which the context retains. The core doesn't, because the objects
    /// retain the core.
    var edited: [RecordKey: ManagedObject] = [:]
    /// The undo stack. It retains edited objects until the context is released.
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

    /// The policy if a new object has a unique value of a stored object. With `.update`, the stored object takes the
    /// values that were set on the new object, including nulls, and keeps its other values. Defaults don't count as
    /// set. The new object then represents the stored object and has its id. If the context already has an object for
    /// it, that object takes the values, and the new one leaves the context: its `managedObjectContext` is nil. Such a
    /// save can't be undone. Two new objects with the same unique value are an error.
    public var onUniqueConflict: UniqueConflictPolicy {
        get { core.onUniqueConflict }
        set { core.onUniqueConflict = newValue }
    }

    /// The maximum time for which a save or a batch waits for another writer. Then it throws `StoreError.writerBusy`,
    /// and the store stays unchanged. Nil means no limit.
    public var writeTimeout: Duration? {
        get { core.writeTimeout }
        set { core.writeTimeout = newValue }
    }

    /// The first damage that was found in a call that can't throw, if any.
    public var damage: (any Error)? { core.damage }

    var delivery: Delivery { core.delivery }

    /// The model of the context's state; if the state can't be read, the model with which the store was opened.
    var model: Model { core.model }

    /// The newest commit that the context contains. Throws `StoreError`.
    public var commit: UInt64 { get throws { try withPublicErrors { try snapshot().commit } } }

    /// The snapshot that the context reads. The first use takes the newest state; later ones return the same until the
    /// context advances.
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
