internal import FetchIndexOrderCaches
internal import FetchIndexModels
internal import FetchIndexRecords

/// A pinned state of the store, and the unsaved edits over it.
///
/// A context and its objects belong to one isolation domain. The context advances to a newer state as a whole: when it
/// saves, when it merges, and when a controller fetches. Until then it pins the pages of its state.
public final class ManagedObjectContext {
    /// The core, which the objects retain, too.
    let core: ContextCore
    /// The objects with unsaved or unprocessed edits. The core doesn't retain them, because they retain it.
    var edited: [RecordKey: ManagedObject] = [:]
    /// The undo stack. It retains the objects of its edits, and is released with the context.
    var undoStack = UndoStack()

    init(_ core: ContextCore) {
        self.core = core
        undoStack.isEnabled = core.isUndoEnabled
        core.know(self)
    }

    // MARK: State

    public var container: PersistentContainer { core.container }

    /// The author in the history of this context's saves.
    public var transactionAuthor: String {
        get { core.transactionAuthor }
        set { core.transactionAuthor = newValue }
    }

    public var mergePolicy: MergePolicy {
        get { core.mergePolicy }
        set { core.mergePolicy = newValue }
    }

    /// The policy for a new object with a unique value that a stored object has. With `.update` the stored object takes
    /// the values that were set on the new one after its insertion, null included, and keeps its other values. Defaults
    /// don't count as set. The new object then represents the stored one and has its id. If the context already has an
    /// object for it, that object takes the values, and the new one leaves the context: its `managedObjectContext` is
    /// nil. Such a save can't be undone. Two new objects with one unique value are an error.
    public var onUniqueConflict: UniqueConflictPolicy {
        get { core.onUniqueConflict }
        set { core.onUniqueConflict = newValue }
    }

    /// The maximum time that a save or a batch waits for a busy writer, before it throws `StoreError.writerBusy` and
    /// changes nothing. Nil means no limit.
    public var writeTimeout: Duration? {
        get { core.writeTimeout }
        set { core.writeTimeout = newValue }
    }

    /// The first damage found where errors can't be thrown, if any.
    public var damage: (any Error)? { core.damage }

    var delivery: Delivery { core.delivery }

    /// The model of the snapshot; if the store can't be read, the one that it was opened with.
    var model: Model { core.model }

    /// The newest commit that the context sees. Throws `StoreError`.
    public var commit: UInt64 { get throws { try withPublicErrors { try snapshot().commit } } }

    /// The state that the context reads: the newest one at its first use, until it advances.
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

    /// The caches of the followed orders, without duplicates.
    var followedCaches: [CacheRequest] {
        var names: Set<String> = []
        return liveFollowers.compactMap(\.followed).filter { names.insert($0.name).inserted }
    }

    /// Updates all followers, then delivers its changes to each.
    func deliver(_ step: (any ContextFollower) -> Void) {
        let followers = liveFollowers
        for follower in followers { step(follower) }
        delivery.deliver { for follower in followers { follower.deliver() } }
        core.edits.didDeliver()
    }
}
