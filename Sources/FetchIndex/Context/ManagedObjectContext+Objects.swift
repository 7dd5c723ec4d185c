public import FetchIndexModels
internal import FetchIndexRecords

extension ManagedObjectContext {
    /// Inserts a new object of an entity. Throws `StoreError.unknownEntity`.
    public func insert(_ entityName: String) throws -> ManagedObject {
        try withPublicErrors { insertObject(ofEntity: try model.number(of: entityName)) }
    }

    func registrationOfNew(_ type: ManagedObject.Type) -> ObjectRegistration {
        guard let number = try? model.number(of: type.entityName) else {
            // Opening a container with the class's model adds the entity to the store or throws, so a missing entity is
            // the program's mistake.
            preconditionFailure("The store's model has no entity \(type.entityName).")
        }
        core.know(type)
        return registrationOfNew(number)
    }

    /// Inserts a new object of the entity with an entity number.
    func insertObject(ofEntity number: Int) -> ManagedObject {
        let object = core.objectClass(of: number, model.entities[number]).init(registrationOfNew(number))
        didInsert(object)
        return object
    }

    private func registrationOfNew(_ entity: Int) -> ObjectRegistration {
        ObjectRegistration(
            objectID: id(of: container.temporaryKey(entity)), entity: model.entities[entity], core: core,
            isInserted: true)
    }

    func didInsert(_ object: ManagedObject) {
        core.registry.insert(object)
        for (slot, makeValue) in core.initialValues(of: object) {
            let value = makeValue()
            if !value.isNull { object.changes[slot] = value }
        }
        undoStack.willChange(object, isInsertion: true)
        didChange(object)
        object.awakeFromInsert()
        object.givenSlots = []
    }

    /// The id of the object with a key.
    func id(of key: RecordKey, in model: Model? = nil) -> ObjectID {
        ObjectID(key, core.origin(ofEntity: key.entity, in: model))
    }

    /// The object with an id: the registered object, an object whose removal is being delivered, or a new fault.
    /// Doesn't check whether the object exists in the store. Traps for an id of another store; `existingObject(with:)`
    /// throws instead.
    public func object(with id: ObjectID) -> ManagedObject {
        do { return object(with: try container.key(of: id)) } catch { preconditionFailure("\(error).") }
    }

    func object(with id: RecordKey) -> ManagedObject {
        if let object = registeredObject(for: id) ?? core.edits.leavingObject(id) { return object }
        let entity = model.entities.indices.contains(id.entity) ? model.entities[id.entity] : Entity("", [])
        let type = core.objectClass(of: id.entity, entity)
        let record = core.edits.leavingRecord(id)
        let object = type.init(
            ObjectRegistration(objectID: self.id(of: id), entity: entity, core: core, record: record))
        if record == nil { core.registry.insert(object) } else { release(object) }
        return object
    }

    /// The object with an id, if it is registered in the context; otherwise nil, even for an id of another store.
    public func registeredObject(for id: ObjectID) -> ManagedObject? {
        (try? container.key(of: id)).flatMap { registeredObject(for: $0) }
    }

    func registeredObject(for id: RecordKey) -> ManagedObject? {
        if let object = core.registry[id] { return object }
        guard let detached = core.registry.takeDetached(id) else { return nil }
        let object = detached.type.init(
            ObjectRegistration(objectID: self.id(of: id), entity: detached.entity, core: core))
        object.unsavedValues = detached.values
        core.registry.insert(object)
        edited[id] = object
        return object
    }

    /// Returns the object with a key, which has unsaved or unprocessed edits, and retains it in the context.
    func editedObject(_ id: RecordKey) -> ManagedObject {
        if let object = edited[id] { return object }
        let object = object(with: id)
        edited[id] = object
        return object
    }

    /// Stops retaining the object with a key, unless it still has unsaved or unprocessed edits.
    func settle(_ id: RecordKey) { if !core.edits.need(id) { edited[id] = nil } }

    func typedObject<Object: ManagedObject>(with id: RecordKey, as type: Object.Type) throws -> Object {
        if let object = object(with: id) as? Object { return object }
        let name = model.entities[id.entity].name
        throw ContextError.wrongClass(
            entity: name, "\(core.classes[name] ?? ManagedObject.self)", asked: "\(Object.self)")
    }

    /// Registers a class for an entity that has no class yet, unless the class belongs to a superentity. Throws if the
    /// entity's objects have a class that is neither the given class nor a subclass of it.
    func use<Object: ManagedObject>(_ type: Object.Type, for entityName: String) throws {
        if Object.self == ManagedObject.self { return }
        let model = model
        let number = try model.number(of: entityName)
        let isOfSuperentity = model.superentities(of: number).contains { model.entities[$0].name == type.entityName }
        // The class of a superentity mustn't replace the entity's own class.
        let known =
            core.classes[entityName] ?? (isOfSuperentity ? core.objectClass(of: number, model.entities[number]) : type)
        if !isOfSuperentity { core.classes[entityName] = known }
        guard known is Object.Type else {
            throw ContextError.wrongClass(entity: entityName, "\(known)", asked: "\(Object.self)")
        }
    }

    func register(_ object: ManagedObject, as id: RecordKey) {
        core.registry.remove(object.key)
        object.objectID = self.id(of: id)
        core.registry.insert(object)
    }

    /// Removes an object from the context, for example because it no longer exists or the context is reset. If the
    /// object has read its record, its last values can still be read.
    func release(_ object: ManagedObject) {
        core.registry.remove(object.key)
        core.edits.leave(object.key, object)
        object.status = .gone(wasSaved: object.status.hasBeenSaved)
        object.noteChangeOfState()
        object.core = nil
    }
}
