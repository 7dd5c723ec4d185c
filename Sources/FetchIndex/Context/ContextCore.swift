internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

// The references between a context, its core and its objects:
//
//     context -> core <- object        strong
//     context -> object                strong, while the object has unsaved, unprocessed or undoable edits
//     core    -> object that leaves the context
//                                      strong, until the object's removal was delivered
//     core    .. context, object       weak
//
/// The state of a context. Each object of the context retains the core, too, so that objects can be read, edited and
/// saved after the context itself was released: the core recreates the context when an object needs it.
///
/// The core and its snapshot are released when neither the context nor any of its objects remain. If an object with
/// unsaved edits is released after the context, its values stay in the registry.
final class ContextCore {
    let container: PersistentContainer
    /// The context's actor, if it has one. Automatic merges run on it.
    private(set) weak var isolation: (any Actor)?
    private weak var known: ManagedObjectContext?
    var transactionAuthor = ""
    var mergePolicy = MergePolicy.error
    var onUniqueConflict = UniqueConflictPolicy.error
    var writeTimeout: Duration?
    var isUndoEnabled = false
    /// The first error that a call couldn't throw, if any: usually damage of the store.
    private(set) var damage: (any Error)?

    private var opened: Snapshot? {
        didSet { knownOrders = [:] }
    }
    /// The snapshot's caches in which fetches can look up objects by the caches' leading attributes. The dictionary's
    /// keys are the numbers of the fetched entities. The caches are found on demand.
    private var knownOrders: [[Int]: [LeadingOrder]] = [:]
    var registry = ObjectRegistry()
    /// The part of an id that all objects of an entity share, by entity number.
    private var origins: [Int: ObjectOrigin] = [:]
    /// Functions that make the initial values of new objects, by class, entity number and slot.
    private var initialValues: [ObjectIdentifier: [Int: [Int: () -> Value]]] = [:]
    var classes: [String: ManagedObject.Type]
    var edits = UnsavedEdits<ManagedObject>()
    /// The links that unsaved edits add and remove. They are found on demand, and reset to nil by a save, a merge, a
    /// batch request, a rollback, or a refresh that discards values.
    var linkEdits: LinkEdits?
    /// The unsaved objects by their values of an attribute, for look-ups by unique values. They are found on demand,
    /// and removed when `linkEdits` is reset.
    var unsavedIndexes: [UnsavedIndex.Attribute: UnsavedIndex] = [:]
    var followers: [WeakFollower] = []
    let delivery = Delivery()
    /// Whether notifications of observers are deferred until all objects have their new state.
    private(set) var isDeferringObservations = false
    var observations: [() -> Void] = []
    var mergeTask: Task<Void, Never>?
    /// Whether the processing of edits is scheduled on the actor.
    var isProcessingScheduled = false
    /// Whether the context merges before each fetch, count and look-up by a unique value, except during a delivery.
    var mergesWhenUsed = false

    struct WeakFollower {
        weak var follower: (any ContextFollower)?
    }

    init(_ container: PersistentContainer, isolation: (any Actor)?) {
        self.container = container
        self.isolation = isolation
        classes = container.objectClasses
    }

    deinit { mergeTask?.cancel() }

    /// The context, recreated if it was released.
    var context: ManagedObjectContext { known ?? ManagedObjectContext(self) }

    func know(_ context: ManagedObjectContext) { known = context }

    // MARK: State

    func snapshot() throws -> Snapshot {
        if let opened { return opened }
        let newest = try container.store.snapshot()
        try container.requireDeclared(in: newest)
        opened = newest
        return newest
    }

    func pin(_ snapshot: Snapshot) {
        forgetIndexes()
        if opened?.modelVersion != snapshot.modelVersion { initialValues = [:] }
        opened = snapshot
    }

    /// Removes `linkEdits` and `unsavedIndexes`, after a change other than an edit.
    func forgetIndexes() { (linkEdits, unsavedIndexes) = (nil, [:]) }

    var model: Model { (try? snapshot().model) ?? container.openingModel }

    /// The caches in which a fetch of the entities can look up objects by the caches' leading attributes. O(caches x
    /// log n) for the first call for these entities in a snapshot, otherwise O(1).
    func leadingOrders(of entity: Int, among entities: [Int]) throws -> [LeadingOrder] {
        if let known = knownOrders[entities] { return known }
        let orders = try LeadingOrder.all(of: entity, among: entities, in: try snapshot())
        knownOrders[entities] = orders
        return orders
    }

    /// The saved record of an object in the snapshot; nil if it has none. Throws if the record can't be read.
    func readRecord(of id: RecordKey) throws -> [UInt8]? {
        if id.isTemporary { return nil }
        return try snapshot().copy(of: id)
    }

    func note(_ error: any Error) { if damage == nil { damage = publicError(error) } }

    // MARK: Making objects

    /// The part of an id that all objects of an entity share.
    func origin(ofEntity number: Int, in model: Model? = nil) -> ObjectOrigin {
        if let known = origins[number] { return known }
        let entities = (model ?? self.model).entities
        let name = entities.indices.contains(number) ? entities[number].name : ""
        let origin = container.origin(ofEntity: number, named: name)
        // An unknown number isn't cached, because a later state may have its entity.
        if !name.isEmpty { origins[number] = origin }
        return origin
    }

    /// The class for an entity's objects: the entity's own class; otherwise the class of the nearest superentity with a
    /// class; `ManagedObject` if no class is known.
    func objectClass(of number: Int, _ entity: Entity) -> ManagedObject.Type {
        if let known = classes[entity.name] { return known }
        if entity.superentity == nil { return ManagedObject.self }
        let names = model.superentities(of: number).map { model.entities[$0].name }
        return names.lazy.compactMap { self.classes[$0] }.first ?? ManagedObject.self
    }

    /// Registers a class for its entity, unless the entity already has a class.
    func know(_ type: ManagedObject.Type) {
        if type != ManagedObject.self, classes[type.entityName] == nil { classes[type.entityName] = type }
    }

    func initialValues(of object: ManagedObject) -> [Int: () -> Value] {
        let type = type(of: object)
        if let known = initialValues[ObjectIdentifier(type)]?[object.key.entity] { return known }
        var values: [Int: () -> Value] = [:]
        for (name, value) in type.initialValues { if let slot = object.entity.slot(of: name) { values[slot] = value } }
        initialValues[ObjectIdentifier(type), default: [:]][object.key.entity] = values
        return values
    }

    /// Removes an object from the registry while the object is deinitialized. The registry keeps the object's unsaved
    /// values, if any.
    func forget(_ object: ManagedObject) {
        registry.forget(object, keepingValues: edits.need(object.key))
    }

    // MARK: Observation

    /// Runs a body that changes objects. The objects' observers are notified after the body, or after the outermost one
    /// if calls are nested.
    func deferringObservations<Result>(_ body: () throws -> Result) rethrows -> Result {
        if isDeferringObservations { return try body() }
        isDeferringObservations = true
        defer {
            isDeferringObservations = false
            let told = observations
            observations = []
            for tell in told { tell() }
        }
        return try body()
    }
}
