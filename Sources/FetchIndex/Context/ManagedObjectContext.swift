internal import OrderCaches
internal import Bytes
public import Models
internal import Records

/// A pinned state of the store, and the unsaved edits over it.
///
/// A context and its objects belong to one isolation domain. The context advances to a newer state as a whole: when it
/// saves, when it merges, and when a controller fetches. Until then it pins the pages of its state.
public final class ManagedObjectContext {
    public let container: PersistentContainer
    /// Where automatic merges run; nil: they run when the context is used.
    private(set) weak var isolation: (any Actor)?
    /// The author in the history of this context's saves.
    public var transactionAuthor = ""
    public var mergePolicy = MergePolicy.error
    /// What a save does with a new object whose unique value a stored object has. With `.update` the stored object takes the
    /// values that were set on the new one after its insertion, null included, and keeps its other values. Defaults do not
    /// count as set. The new object then represents the stored one and has its id. Where the context has an object of it
    /// already, that object takes the values, and the new one leaves the context: its `managedObjectContext` is nil. Such a
    /// save cannot be undone. Two new objects with one unique value are an error.
    public var onUniqueConflict = UniqueConflictPolicy.error
    /// How long a save or a batch waits for a busy writer, before it throws `StoreError.writerBusy` and changes nothing.
    /// Nil: without limit.
    public var writeTimeout: Duration?
    /// The first damage that was met in a place that cannot throw; nil when there was none.
    public private(set) var damage: (any Error)?

    private var opened: Snapshot? {
        didSet { knownOrders = [:] }
    }
    /// The leading orders of the snapshot, by entity, as far as fetches have needed them.
    private var knownOrders: [[Int]: [LeadingOrder]] = [:]
    /// By entity, so that a merge sees at once which entities matter.
    private var registered: [Int: [RecordKey: RegisteredObject]] = [:]
    /// What ids are made with, by entity.
    private var origins: [Int: ObjectOrigin] = [:]
    /// Makes what new objects of a class begin with, by slot.
    /// By class and number of the entity.
    private var initialValues: [ObjectIdentifier: [Int: [Int: () -> Value]]] = [:]
    private var classes: [String: ManagedObject.Type]
    var edits = UnsavedEdits<ManagedObject>()
    var undoStack = UndoStack()
    /// The links of unsaved edits; nil until they are asked for, and after other changes than edits.
    var linkEdits: LinkEdits?
    private var followers: [WeakFollower] = []
    let delivery = Delivery()
    /// Whether observers are notified later, when all objects have their new state.
    private(set) var isDeferringObservations = false
    var observations: [() -> Void] = []
    var mergeTask: Task<Void, Never>?
    /// Whether edits are processed at the end of the actor's turn.
    var isProcessingScheduled = false
    /// Whether the context merges before it is used.
    var mergesWhenUsed = false

    private struct RegisteredObject {
        weak var object: ManagedObject?
    }

    private struct WeakFollower {
        weak var follower: (any ContextFollower)?
    }

    init(_ container: PersistentContainer, isolation: (any Actor)?) {
        self.container = container
        self.isolation = isolation
        classes = container.objectClasses
    }

    deinit { mergeTask?.cancel() }

    /// The state that the context reads: the newest one at its first use, until it advances.
    func snapshot() throws -> Snapshot {
        if let opened { return opened }
        let newest = try container.store.snapshot()
        try container.requireDeclared(in: newest)
        opened = newest
        return newest
    }

    func pin(_ snapshot: Snapshot) {
        linkEdits = nil
        if opened?.modelVersion != snapshot.modelVersion { initialValues = [:] }
        opened = snapshot
    }

    /// The caches in which a fetch can look values up. O(caches), once a snapshot.
    func leadingOrders(of entity: Int, among entities: [Int]) throws -> [LeadingOrder] {
        if let known = knownOrders[entities] { return known }
        let orders = try LeadingOrder.all(of: entity, among: entities, in: try snapshot())
        knownOrders[entities] = orders
        return orders
    }

    /// The newest commit that the context sees. Throws `StoreError`.
    public var commit: UInt64 { get throws { try withPublicErrors { try snapshot().commit } } }

    /// The model of the snapshot; where the store cannot be read now, the one that it was opened with.
    var model: Model { (try? snapshot().model) ?? container.openingModel }

    func note(_ error: any Error) { if damage == nil { damage = publicError(error) } }

    // MARK: Objects

    /// Inserts an object of an entity. Throws `StoreError.unknownEntity`.
    public func insert(_ entityName: String) throws -> ManagedObject {
        insertObject(ofEntity: try model.number(of: entityName))
    }

    func registrationOfNew(_ type: ManagedObject.Type) -> ObjectRegistration {
        guard let number = try? model.number(of: type.entityName) else {
            // Opening a container with the class's model gives every store the entity, or throws.
            preconditionFailure("The store's model has no entity \(type.entityName).")
        }
        if classes[type.entityName] == nil { classes[type.entityName] = type }
        return registrationOfNew(number)
    }

    /// Inserts an object of an entity by its number.
    func insertObject(ofEntity number: Int) -> ManagedObject {
        let object = objectClass(of: number, model.entities[number]).init(registrationOfNew(number))
        didInsert(object)
        return object
    }

    private func registrationOfNew(_ entity: Int) -> ObjectRegistration {
        ObjectRegistration(
            objectID: id(of: container.temporaryKey(entity)), entity: model.entities[entity], context: self,
            isInserted: true)
    }

    func didInsert(_ object: ManagedObject) {
        register(object)
        for (slot, makeValue) in initialValues(of: object) {
            let value = makeValue()
            if !value.isNull { object.changes[slot] = value }
        }
        undoStack.willChange(object, isInsertion: true)
        didChange(object)
        object.awakeFromInsert()
        object.givenSlots = []
    }

    /// The id of the object with a record.
    func id(of key: RecordKey, in model: Model? = nil) -> ObjectID {
        ObjectID(key, origin(ofEntity: key.entity, in: model))
    }

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

    /// The object with an id: the registered one, or a fault. Does not look whether the store has it. Traps for an id of another
    /// store, where `existingObject(with:)` throws.
    public func object(with id: ObjectID) -> ManagedObject {
        do { return object(with: try container.key(of: id)) } catch { preconditionFailure("\(error).") }
    }

    func object(with id: RecordKey) -> ManagedObject {
        if let object = registeredObject(for: id) ?? edits.leavingObject(id) { return object }
        let entity = model.entities.indices.contains(id.entity) ? model.entities[id.entity] : Entity("", [])
        let type = objectClass(of: id.entity, entity)
        let record = edits.leavingRecord(id)
        let object = type.init(
            ObjectRegistration(objectID: self.id(of: id), entity: entity, context: self, record: record))
        if record == nil { register(object) } else { release(object) }
        return object
    }

    /// The class of an entity's objects: that of the nearest superentity where its own is not known.
    private func objectClass(of number: Int, _ entity: Entity) -> ManagedObject.Type {
        if let known = classes[entity.name] { return known }
        if entity.superentity == nil { return ManagedObject.self }
        let names = model.superentities(of: number).map { model.entities[$0].name }
        return names.lazy.compactMap { self.classes[$0] }.first ?? ManagedObject.self
    }

    /// The object with an id, if the context has it. Nil for an id of another store.
    public func registeredObject(for id: ObjectID) -> ManagedObject? {
        (try? container.key(of: id)).flatMap { registeredObject(for: $0) }
    }

    func registeredObject(for id: RecordKey) -> ManagedObject? { registered[id.entity]?[id]?.object }

    func typedObject<Object: ManagedObject>(with id: RecordKey, as type: Object.Type) throws -> Object {
        if let object = object(with: id) as? Object { return object }
        let name = model.entities[id.entity].name
        throw ContextError.wrongClass(entity: name, "\(classes[name] ?? ManagedObject.self)", asked: "\(Object.self)")
    }

    /// Makes objects of a class's entity objects of it, unless the context knows a class already.
    func know(_ type: ManagedObject.Type) {
        if type != ManagedObject.self, classes[type.entityName] == nil { classes[type.entityName] = type }
    }

    /// Makes objects of an entity objects of a class, unless the context knows a class already, which must be a subclass.
    func use<Object: ManagedObject>(_ type: Object.Type, for entityName: String) throws {
        if Object.self == ManagedObject.self { return }
        let model = model
        let number = try model.number(of: entityName)
        let isOfSuperentity = model.superentities(of: number).contains { model.entities[$0].name == type.entityName }
        // The class of a superentity is not that of the entity.
        let known = classes[entityName] ?? (isOfSuperentity ? objectClass(of: number, model.entities[number]) : type)
        if !isOfSuperentity { classes[entityName] = known }
        guard known is Object.Type else {
            throw ContextError.wrongClass(entity: entityName, "\(known)", asked: "\(Object.self)")
        }
    }

    func forget(_ id: RecordKey) { if registeredObject(for: id) == nil { unregister(id) } }

    func register(_ object: ManagedObject, as id: RecordKey) {
        unregister(object.key)
        object.objectID = self.id(of: id)
        register(object)
    }

    private func register(_ object: ManagedObject) {
        registered[object.key.entity, default: [:]][object.key] = RegisteredObject(object: object)
    }

    private func unregister(_ id: RecordKey) { registered[id.entity]?[id] = nil }

    private func initialValues(of object: ManagedObject) -> [Int: () -> Value] {
        let type = type(of: object)
        if let known = initialValues[ObjectIdentifier(type)]?[object.key.entity] { return known }
        var values: [Int: () -> Value] = [:]
        for (name, value) in type.initialValues { if let slot = object.entity.slot(of: name) { values[slot] = value } }
        initialValues[ObjectIdentifier(type), default: [:]][object.key.entity] = values
        return values
    }

    /// The entities of which objects are registered.
    var registeredEntities: [Int] { registered.filter { !$0.value.isEmpty }.map(\.key) }

    /// Releases an object that is no longer there. Its last values can still be read.
    func release(_ object: ManagedObject) {
        unregister(object.key)
        edits.leave(object.key, object)
        object.status = .gone
        object.noteChangeOfState()
        object.managedObjectContext = nil
    }

    func forEachRegistered(_ body: (ManagedObject) -> Void) {
        for objects in Array(registered.values) {
            for entry in Array(objects.values) { if let object = entry.object { body(object) } }
        }
    }

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

    // MARK: Followers

    func follow(_ follower: any ContextFollower) {
        followers.removeAll { $0.follower == nil || $0.follower === follower }
        followers.append(WeakFollower(follower: follower))
    }

    var liveFollowers: [any ContextFollower] {
        followers.compactMap { if let follower = $0.follower, follower.isLive { follower } else { nil } }
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
        edits.didDeliver()
    }
}
