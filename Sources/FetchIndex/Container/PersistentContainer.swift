package import FetchIndexOrderCaches
package import FetchIndexRecords
public import FetchIndexModels
internal import Dispatch
internal import Synchronization
public import FetchIndexEssentials

/// An open store and its model. Threads and tasks may share it.
///
/// A store is a folder on one machine; it must not be on a network file system.
public final class PersistentContainer: Sendable {
    package let store: Store
    /// The stored model at the opening of the container.
    let openingModel: Model
    /// The entities of the models with which the program opened or migrated the store, by name.
    private let declared: Mutex<[String: Entity]>
    /// The version of the stored model that was last found to contain everything that the program declares.
    private let checkedVersion = Mutex<UInt32?>(nil)
    /// The classes of the model with which the container was opened, by entity name.
    let objectClasses: [String: ManagedObject.Type]
    /// A queue for work that may wait for a writer while the calling task is suspended. (`Threads` is for work whose
    /// caller blocks its own thread.)
    private let work = DispatchQueue(label: "FetchIndex.perform", attributes: .concurrent)
    /// The folder of a temporary store, which is removed when the container is released; nil for other stores.
    private let folder: TemporaryStoreFolder?
    private let temporaryNumbers = Mutex(RecordKey.firstTemporaryNumber)
    let compiledOrders = CompiledOrders()
    private let hitCounts: HitCounts
    /// The parts that all object ids of an entity share, by entity number.
    private let origins = Mutex<[Int: ObjectOrigin]>([:])

    /// Opens the store in a folder. If a model is given, a missing store is created, and the stored model is changed as
    /// far as `migration` allows. If not, the stored model is used, and a missing store is an error. A read-only
    /// container creates no store, writes no records and no caches, and refuses a model for which the store must be
    /// migrated.
    ///
    /// The durability applies to all transactions: saves, builds and catch-ups of caches, and the migration to a new
    /// model. Throws `StoreError`.
    public convenience init(
        at url: URL, model: Model? = nil, migration: MigrationPolicy = .freeChanges, durability: Durability = .full,
        isReadOnly: Bool = false
    ) throws {
        let path = try url.storePath()
        var options = Store.Options()
        options.durability = durability
        options.isReadOnly = isReadOnly
        options.creates = model != nil && !isReadOnly
        var allowed = Migration()
        allowed.allowsPasses = migration == .automatic
        try self.init(path: path, model: model, migration: allowed, options: options, folder: nil)
    }

    /// Makes a temporary store, for tests and temporary data. The store is in a new folder in the system's folder for
    /// temporary files. The new folder is removed when the container is released. Commits don't wait for the disk.
    /// Throws `StoreError`.
    public convenience init(temporaryWith model: Model) throws {
        let folder = TemporaryStoreFolder()
        var options = Store.Options()
        options.durability = .none
        try self.init(path: folder.path, model: model, migration: Migration(), options: options, folder: folder)
    }

    package convenience init(path: String, model: Model? = nil, options: Store.Options = Store.Options()) throws {
        try self.init(path: path, model: model, migration: Migration(), options: options, folder: nil)
    }

    private init(
        path: String, model: Model?, migration: Migration, options: Store.Options, folder: TemporaryStoreFolder?
    ) throws {
        self.folder = folder
        store = try withPublicErrors {
            // Validates the model before a store is created.
            try model?.validate()
            let store = try Store(at: path, options: options)
            if let model { try store.migrate(to: model, migration) }
            return store
        }
        hitCounts = HitCounts(of: store)
        openingModel = try withPublicErrors { [store] in try store.snapshot().model }
        declared = Mutex(Dictionary((model?.entities ?? []).map { ($0.name, $0) }) { first, _ in first })
        objectClasses = model?.attachedTypes.compactMapValues { $0 as? ManagedObject.Type } ?? [:]
    }

    /// Makes a context for the caller's isolation domain: the main actor, another actor, or no actor.
    public func newContext(isolation: isolated (any Actor)? = #isolation) -> ManagedObjectContext {
        ManagedObjectContext(ContextCore(self, isolation: isolation))
    }

    /// Runs work in a new context that isn't isolated to an actor, and returns the result. The caller is suspended, and
    /// the work runs on a thread outside of the cooperative pool, so the work may wait for other writers. Throws
    /// `CancellationError` if the task was cancelled before the call, and rethrows the errors of the work. Cancelling
    /// the task during the call doesn't stop the work.
    public func perform<Result: Sendable>(
        _ body: @escaping @Sendable (ManagedObjectContext) throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        return try await withCheckedThrowingContinuation { continuation in
            work.async { [self] in
                let context = ManagedObjectContext(ContextCore(self, isolation: nil))
                continuation.resume(with: Swift.Result { try body(context) })
            }
        }
    }

    /// Makes a temporary key for an unsaved object, unique in this container.
    func temporaryKey(_ entity: Int) -> RecordKey {
        let number = temporaryNumbers.withLock { next in
            next += 1
            return next
        }
        return RecordKey(entity: entity, number: number)
    }

    /// The identifier of the store, which the ids of the objects that were inserted into it contain. A backup of a
    /// store with an identifier gets another one, for objects that are inserted into the backup. Nil if the identifier
    /// was missing or damaged when the container was opened. It's missing if a version of this package without
    /// identifiers made the store; a later transaction then makes one.
    public var storeIdentifier: UUID? { store.identifier }

    /// Throws `StoreError.modelMismatch` if the stored model doesn't fit what this program declares, for example
    /// because a newer program has changed the model. The version that passed last isn't checked again.
    func requireDeclared(in snapshot: Snapshot) throws {
        if checkedVersion.withLock({ $0 == snapshot.modelVersion }) { return }
        try requireDeclared(in: snapshot.model)
        checkedVersion.withLock { $0 = snapshot.modelVersion }
    }

    func requireDeclared(in model: Model) throws {
        let declared = declared.withLock { $0 }.sorted { $0.key < $1.key }
        for (name, _) in declared where model.entity(named: name) == nil {
            let renamed = model.entities.first { $0.stored.formerNames.contains(name) && !$0.isDropped }
            throw StoreError.modelMismatch(
                entity: name, renamed.map { "it is called \($0.name) now" } ?? "it was dropped")
        }
        for (name, entity) in declared { try model.entity(named: name)?.requireAttributes(of: entity) }
    }

    /// Notes that this program now declares a model, to which it has migrated the store, which then has `stored`.
    func declare(_ model: Model, in stored: Model) {
        declared.withLock { declared in
            declared = declared.filter { stored.entity(named: $0.key) != nil }
            for entity in model.entities { declared[entity.name] = entity }
        }
    }

    func origin(ofEntity number: Int, named name: String) -> ObjectOrigin {
        origins.withLock { origins in
            if let known = origins[number], known.entityName == name { return known }
            let origin = store.origin(ofEntity: number, named: name)
            origins[number] = origin
            return origin
        }
    }

    /// The id of the object with a record key. `model` must have the object's entity.
    package func id(of object: RecordKey, in model: Model) -> ObjectID {
        ObjectID(object, origin(ofEntity: object.entity, named: model.entities[object.entity].name))
    }

    /// The record key of the object with an id. Throws `ContextError.otherStore` for an id of another store.
    func key(of id: ObjectID) throws -> RecordKey {
        guard origin(ofEntity: id.key.entity, named: id.entityName).has(id.number, of: id.storeIdentifier) else {
            throw ContextError.otherStore(id)
        }
        return id.key
    }

    /// The stored model in the store's newest state. Throws `StoreError`.
    public func model() throws -> Model {
        try withPublicErrors { try store.snapshot().model.described }
    }

    /// Removes an entity with its objects and caches, and the relationships that lead from and to it, in one transaction.
    /// Returns the number of removed objects. O(n log n). Throws `StoreError`, for example if a record is damaged; the
    /// entity then stays.
    @discardableResult
    public func dropEntity(named name: String) throws -> Int {
        try withPublicErrors {
            try dropEntity(named: name, onlyEmpty: false) ?? 0
        }
    }

    /// Removes an entity and its objects. If `onlyEmpty` and the entity has objects, removes nothing and returns nil.
    func dropEntity(named name: String, onlyEmpty: Bool) throws -> Int? {
        let writer = try store.beginWrite()
        let number = try writer.model.number(of: name)
        if onlyEmpty, try writer.entityState(number).count > 0 { return nil }
        if let subentity = writer.model.hierarchy(of: number).first(where: { $0 != number }) {
            throw StoreError.invalidModel(
                "\(writer.model.entities[subentity].name) is a subentity of \(name), and must be dropped first")
        }
        let count = try writer.entityState(number).count
        var migration = Migration.demanded
        migration.allowsPasses = true
        let given = Model(entities: [], removed: [name])
        guard let old = try writer.migrateAndSeal(to: given, migration, author: "") else { return nil }
        try cacheEngine.matchIndexes(in: writer, from: old)
        try writer.commit()
        return Int(clamping: count)
    }

    /// The directory of caches. Writes the hits that this container still holds in memory, so that counts include them.
    package var caches: CacheDirectory {
        hitCounts.write()
        return CacheDirectory(store)
    }
    package var cacheEngine: CacheEngine { CacheEngine(store, hitCounts) }
}

extension PersistentContainer {
    /// Deletes a named cache; if `name` is nil, all caches that belong to no index. Returns the number of deleted
    /// caches. Throws `CacheError.locked` if one of the caches is locked, in which case none is deleted.
    @discardableResult
    public func deleteCache(named name: String?) throws -> Int {
        try withPublicErrors { try caches.delete(name) }
    }

    package func compile(_ definition: OrderDefinition, _ options: OrderOptions) throws -> OrderRequest {
        if options.cacheName != nil, let what = definition.uncacheableReason { throw ContextError.notCacheable(what) }
        return options.applied(to: try definition.compile(in: try store.snapshot().model))
    }
}

extension PersistentContainer {
    /// The plan by which a fetch with a definition would now find its rows. With a limit, the fetch needs only that many
    /// rows, and the plan may find them already; otherwise it's chosen without fetching rows. Throws `StoreError`, and
    /// other errors if the definition doesn't fit the model.
    public func plan(_ definition: OrderDefinition, limit: Int? = nil) throws -> FetchPlan {
        try withPublicErrors {
            let snapshot = try store.snapshot()
            let number = try snapshot.model.number(of: definition.entity)
            let entity = snapshot.model.entities[number]
            let predicate = definition.predicate ?? FetchPredicate(value: true)
            let table = PathTable(ofEntity: number, in: snapshot.model, predicate)
            let compiled = try CompiledPredicate(predicate, entity, table)
            let entities = try definition.entities(in: snapshot.model)
            let first = FirstRows(definition, most: limit ?? .max, entity, besides: [:])
            return try FetchPlanner(
                predicate, compiled, table, entity: number, among: entities, in: snapshot, first: first
            ).plan()
        }
    }
}

extension URL {
    /// The path of a store's folder, from the folder's URL. Throws `StoreError.inaccessible`.
    func storePath() throws -> String {
        guard isFileURL else { throw StoreError.inaccessible(path: absoluteString, "its URL is not a file URL") }
        return path
    }
}

/// The folder of a temporary store. The folder is removed when this object is released.
private final class TemporaryStoreFolder: Sendable {
    let path = FileManager.default.temporaryDirectory.path + "/fetchindex-" + UUID().uuidString

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
