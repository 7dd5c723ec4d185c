internal import FetchIndexOrderCaches
internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexRecords

/// A pinned state of the store, and the unsaved edits over it.
///
/// A context and its objects belong to one isolation domain. The context advances to a newer state as a whole: when it
/// saves, when it merges, and when a controller fetches. Until then it pins the pages of its state.
public final class ManagedObjectContext {
    /// What the context is made of, which its objects keep too.
    let core: ContextCore
    /// The objects with unsaved or unprocessed edits. The core does not retain them, since they retain it.
    var edited: [RecordKey: ManagedObject] = [:]
    /// Retains the objects of its edits, and ends with the context.
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

    /// What a save does with a new object whose unique value a stored object has. With `.update` the stored object takes the
    /// values that were set on the new one after its insertion, null included, and keeps its other values. Defaults do not
    /// count as set. The new object then represents the stored one and has its id. Where the context has an object of it
    /// already, that object takes the values, and the new one leaves the context: its `managedObjectContext` is nil. Such a
    /// save cannot be undone. Two new objects with one unique value are an error.
    public var onUniqueConflict: UniqueConflictPolicy {
        get { core.onUniqueConflict }
        set { core.onUniqueConflict = newValue }
    }

    /// How long a save or a batch waits for a busy writer, before it throws `StoreError.writerBusy` and changes nothing.
    /// Nil: without limit.
    public var writeTimeout: Duration? {
        get { core.writeTimeout }
        set { core.writeTimeout = newValue }
    }

    /// The first damage that was met in a place that cannot throw; nil when there was none.
    public var damage: (any Error)? { core.damage }

    var delivery: Delivery { core.delivery }

    /// The model of the snapshot; where the store cannot be read now, the one that it was opened with.
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

    /// The caches whose orders are followed, each once.
    var followedCaches: [CacheRequest] {
        var names: Set<String> = []
        return liveFollowers.compactMap(\.followed).filter { names.insert($0.name).inserted }
    }

    /// Updates all followers, and then tells each what changed.
    func deliver(_ step: (any ContextFollower) -> Void) {
        let followers = liveFollowers
        for follower in followers { step(follower) }
        delivery.deliver { for follower in followers { follower.deliver() } }
        core.edits.didDeliver()
    }
}
