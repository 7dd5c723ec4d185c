internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// What a context is made of. Each object of the context keeps it too, so that objects can be read, edited and saved when
/// nobody keeps the context: the core makes the context again when one of them asks for it.
///
/// ```
/// context -> core <- object        strong
/// context -> object                strong, while the object has unsaved edits
/// core    .. context, object       weak
/// ```
///
/// So it ends, and its snapshot with it, with the last of the context and its objects. An object with unsaved edits that
/// nobody keeps, because the context is gone, leaves its values in the registry.
final class ContextCore {
    let container: PersistentContainer
    /// Where automatic merges run; nil: they run when the context is used.
    private(set) weak var isolation: (any Actor)?
    private weak var known: ManagedObjectContext?
    var transactionAuthor = ""
    var mergePolicy = MergePolicy.error
    var onUniqueConflict = UniqueConflictPolicy.error
    var writeTimeout: Duration?
    var isUndoEnabled = false
    /// The first damage that was met in a place that cannot throw; nil when there was none.
    private(set) var damage: (any Error)?

    private var opened: Snapshot? {
        didSet { knownOrders = [:] }
    }
    /// The leading orders of the snapshot, by entity, as far as fetches have needed them.
    private var knownOrders: [[Int]: [LeadingOrder]] = [:]
    var registry = ObjectRegistry()
    /// What ids are made with, by entity.
    private var origins: [Int: ObjectOrigin] = [:]
    /// Makes what new objects of a class begin with, by slot; by class and number of the entity.
    private var initialValues: [ObjectIdentifier: [Int: [Int: () -> Value]]] = [:]
    var classes: [String: ManagedObject.Type]
    var edits = UnsavedEdits<ManagedObject>()
    /// The links of unsaved edits; nil until they are asked for, and after other changes than edits.
    var linkEdits: LinkEdits?
    /// The unsaved objects by the values of attributes that were asked for; none after other changes than edits.
    var unsavedIndexes: [UnsavedIndex.Attribute: UnsavedIndex] = [:]
    var followers: [WeakFollower] = []
    let delivery = Delivery()
    /// Whether observers are notified later, when all objects have their new state.
    private(set) var isDeferringObservations = false
    var observations: [() -> Void] = []
    var mergeTask: Task<Void, Never>?
    /// Whether edits are processed at the end of the actor's turn.
    var isProcessingScheduled = false
    /// Whether the context merges before it is used.
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

    /// The context; made again when nobody has kept it.
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

    /// Forgets what is derived from the edits, which others than edits have changed.
    func forgetIndexes() { (linkEdits, unsavedIndexes) = (nil, [:]) }

    var model: Model { (try? snapshot().model) ?? container.openingModel }

    /// The caches in which a fetch can look values up. O(caches), once a snapshot.
    func leadingOrders(of entity: Int, among entities: [Int]) throws -> [LeadingOrder] {
        if let known = knownOrders[entities] { return known }
        let orders = try LeadingOrder.all(of: entity, among: entities, in: try snapshot())
        knownOrders[entities] = orders
        return orders
    }

    /// The saved record of an object, as the snapshot has it; nil when it is missing. Throws when it cannot be read.
    func readRecord(of id: RecordKey) throws -> [UInt8]? {
        if id.isTemporary { return nil }
        return try snapshot().copy(of: id)
    }

    func note(_ error: any Error) { if damage == nil { damage = publicError(error) } }

    // MARK: What objects are made with

    /// What the ids of an entity's objects are made with.
    func origin(ofEntity number: Int, in model: Model? = nil) -> ObjectOrigin {
        if let known = origins[number] { return known }
        let entities = (model ?? self.model).entities
        let name = entities.indices.contains(number) ? entities[number].name : ""
        let origin = container.origin(ofEntity: number, named: name)
        // An entity that this state does not have may come with a later one.
        if !name.isEmpty { origins[number] = origin }
        return origin
    }

    /// The class of an entity's objects: that of the nearest superentity where its own is not known.
    func objectClass(of number: Int, _ entity: Entity) -> ManagedObject.Type {
        if let known = classes[entity.name] { return known }
        if entity.superentity == nil { return ManagedObject.self }
        let names = model.superentities(of: number).map { model.entities[$0].name }
        return names.lazy.compactMap { self.classes[$0] }.first ?? ManagedObject.self
    }

    /// Makes objects of a class's entity objects of it, unless the context knows a class already.
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

    /// Removes an object from the registry that is no longer retained. Its unsaved values stay.
    func forget(_ object: ManagedObject) {
        registry.forget(object, keepingValues: edits.need(object.key))
    }

    // MARK: Observation

    /// Runs a change of state of objects, and notifies their observers at its end.
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
