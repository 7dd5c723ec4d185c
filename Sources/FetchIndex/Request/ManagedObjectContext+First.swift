internal import FetchIndexModels
public import FetchIndexPredicates
internal import FetchIndexRecords
public import FetchIndexValues

/// Finds one object: the first one of a request, or the one with a unique value.
extension ManagedObjectContext {
    /// The first matching object, in the order of `fetch`; nil if no object matches. Unsaved edits are included. Costs
    /// as much as `fetch` with the limit 1. Throws the errors of `fetch`.
    ///
    ///     let cheapest = try context.first(Book.self, where: predicate, sortedBy: [SortKey(\.price)])
    public func first<Object: ManagedObject>(
        _ type: Object.Type, where predicate: FetchPredicate? = nil, sortedBy sortKeys: [SortKey<Object>] = []
    ) throws -> Object? {
        var request = FetchRequest<Object>(predicate: predicate, sortKeys: sortKeys)
        request.fetchLimit = 1
        return try fetch(request).first
    }

    /// The first object that matches a predicate made of key paths: `context.first(where: \Book.price < 500)`.
    public func first<Object: ManagedObject>(
        where predicate: ObjectPredicate<Object>, sortedBy sortKeys: [SortKey<Object>] = []
    ) throws -> Object? {
        try first(Object.self, where: FetchPredicate(predicate), sortedBy: sortKeys)
    }

    /// The object with a value of a unique attribute; nil if no object has the value, or if the value is null. Unsaved
    /// edits are included. O(log n), so this can be used to find or insert objects. If no saved object has the value,
    /// the first call for an attribute, and the first one after a save, a merge, a batch request, a rollback or a
    /// refresh, also cost O(unsaved objects). Throws `RequestError.notUnique` for other attributes, and the errors of
    /// `fetch`.
    ///
    ///     let book = try context.object(where: \Book.isbn, is: isbn) ?? Book(context: context)
    public func object<Object: ManagedObject, Wrapped: AttributeValue>(
        where keyPath: KeyPath<Object, Wrapped>, is value: Wrapped
    ) throws -> Object? {
        try withPublicErrors {
            try use(Object.self, for: Object.entityName)
            let key = try uniqueKey(of: Object.entityName, Object.attributeName(of: keyPath), value.attributeValue)
            return try key.map { try typedObject(with: $0, as: Object.self) }
        }
    }

    /// The object with a unique value, for the names of an entity and an attribute: `context.object(of: "Book", where:
    /// "isbn", is: "978-4-15-030984-6")`.
    public func object(of entityName: String, where attribute: String, is value: Value) throws -> ManagedObject? {
        try withPublicErrors { try uniqueKey(of: entityName, attribute, value).map { object(with: $0) } }
    }

    private func uniqueKey(of entityName: String, _ attribute: String, _ value: Value) throws -> RecordKey? {
        try mergeIfWanted()
        let snapshot = try snapshot()
        let model = snapshot.model
        let number = try model.number(of: entityName)
        let entity = model.entities[number]
        let slot = try entity.requireSlot(of: attribute)
        guard entity.uniqueConstraint(ofSlot: slot) != nil else {
            throw RequestError.notUnique(entity: entityName, attribute: attribute)
        }
        if let type = value.type, type != entity.type(at: slot) {
            throw RequestError.wrongType(
                "\(entityName).\(attribute) is \(entity.type(at: slot).nameWithArticle), not \(type.nameWithArticle)")
        }
        if value.isNull { return nil }
        let slots = try Dictionary(
            uniqueKeysWithValues: model.hierarchy(of: number).map {
                ($0, try model.entities[$0].requireSlot(of: attribute))
            })
        if let saved = try snapshot.object(number, slot: slot, equalTo: value), let slot = slots[saved.entity],
            has(saved, value, at: slot)
        {
            return saved
        }
        return unsavedKey(with: value, UnsavedIndex.Attribute(entity: number, slot: slot), slots)
    }

    /// Whether an object still has a saved value, despite its unsaved edits.
    private func has(_ key: RecordKey, _ value: Value, at slot: Int) -> Bool {
        guard core.edits.need(key) else { return true }
        let object = editedObject(key)
        if object.status.isDeleted || object.isGoneFromStore { return false }
        return object.unsavedValue(at: slot).map { $0 == value } ?? true
    }

    private func unsavedKey(
        with value: Value, _ attribute: UnsavedIndex.Attribute, _ slots: [Int: Int]
    ) -> RecordKey? {
        if core.edits.unsaved.isEmpty { return nil }
        if let known = core.unsavedIndexes[attribute] { return known[value] }
        var index = UnsavedIndex(slots)
        for object in core.edits.unsaved.lazy.map(editedObject) { index.note(object) }
        core.unsavedIndexes[attribute] = index
        return index[value]
    }
}

/// An index of an entity's unsaved objects by the value of an attribute. It is made at the first use, and updated with
/// each edit, until a save, a merge, a batch request, a rollback, or a refresh that discards values.
struct UnsavedIndex {
    struct Attribute: Hashable {
        let entity: Int
        let slot: Int
    }

    /// The attribute's slot in each entity whose objects are included.
    private let slots: [Int: Int]
    private var keys: [Value: Set<RecordKey>] = [:]
    private var values: [RecordKey: Value] = [:]

    init(_ slots: [Int: Int]) { self.slots = slots }

    /// The unsaved object that has a value, or the one with the least key if several have it; nil if none has it.
    subscript(value: Value) -> RecordKey? { keys[value]?.min() }

    mutating func note(_ object: ManagedObject) {
        let key = object.key
        guard let slot = slots[key.entity] else { return }
        let value = object.unsavedValue(at: slot)
        let known = values[key]
        if known == value { return }
        if let known { keys[known]?.remove(key) }
        values[key] = value
        if let value { keys[value, default: []].insert(key) }
    }
}

extension ManagedObject {
    /// The value of a slot in an inserted object, or the edited value in a saved object. If a saved object has any
    /// edits, its derived attributes count as edited. Nil for other slots, and for an object that was deleted here or
    /// elsewhere.
    fileprivate func unsavedValue(at slot: Int) -> Value? {
        switch status {
        case .inserted: return value(at: slot)
        case .saved:
            if changes.isEmpty || isGoneFromStore { return nil }
            let isDerived = entity.attribute(at: slot).derivation != nil && savedRecord() != nil
            return isDerived ? value(at: slot) : changes[slot]
        case .deleted, .gone: return nil
        }
    }
}
