internal import FetchIndexOrderCaches
public import FetchIndexModels
internal import FetchIndexRecords

/// Inserts rows, or updates objects with them, without making managed objects.
public struct BatchInsertRequest: Sendable {
    public var entityName: String
    public var onUniqueConflict = UniqueConflictPolicy.error
    /// Makes an iterator over the rows for the stored entity. Rows have their values in the order of its attributes.
    let rows: @Sendable (Entity) throws -> AnyIterator<[Value]>

    /// Each row has its values in the order of the stored entity's attributes (``PersistentContainer/model()``). The
    /// rows of a lazy sequence are made one at a time.
    public init<Rows: Sequence<[Value]> & Sendable>(entityName: String, rows: Rows) {
        self.entityName = entityName
        self.rows = { _ in AnyIterator(rows.makeIterator()) }
    }

    /// Makes rows from dictionaries. Attributes that a dictionary doesn't name get their default values.
    public init(entityName: String, objects: [[String: Value]], in model: Model) throws {
        let names = Set(objects.flatMap(\.keys))
        do {
            let entity = model.entities[try model.number(of: entityName)]
            for name in names { _ = try entity.requireSlot(of: name) }
        } catch { throw publicError(error) }
        self.entityName = entityName
        rows = { entity in
            let slots = Dictionary(uniqueKeysWithValues: try names.map { (try entity.requireSlot(of: $0), $0) })
            return AnyIterator(
                objects.lazy.map { row in
                    zip(entity.attributeSlots, entity.attributes).map { slot, attribute in
                        slots[slot].flatMap { row[$0] } ?? attribute.defaultValue
                    }
                }.makeIterator())
        }
    }
}

/// Sets attributes of all objects that match a predicate, without creating managed objects.
public struct BatchUpdateRequest: Sendable {
    public var entityName: String
    public var predicate: FetchPredicate?
    public var propertiesToUpdate: [String: Value]
    /// Whether objects of the entity's subentities are updated too.
    public var includesSubentities = true

    public init(entityName: String, predicate: FetchPredicate? = nil, propertiesToUpdate: [String: Value]) {
        self.entityName = entityName
        self.predicate = predicate
        self.propertiesToUpdate = propertiesToUpdate
    }
}

/// Deletes all objects that match a predicate, without creating managed objects.
public struct BatchDeleteRequest: Sendable {
    public var entityName: String
    public var predicate: FetchPredicate?
    /// Whether objects of the entity's subentities are deleted too.
    public var includesSubentities = true

    public init(entityName: String, predicate: FetchPredicate? = nil) {
        self.entityName = entityName
        self.predicate = predicate
    }
}

extension ManagedObjectContext {
    /// Inserts rows in one transaction, then advances the context. Controllers report the rows like any other change.
    /// Returns the number of rows that inserted or changed an object. O(rows log n). Takes memory for the written pages
    /// and for up to 8,192 rows, or for all rows, for example if the context has objects or controllers of the entity.
    ///
    /// Throws `StoreError`, `RequestError` and `ContextError.delivering`; an error leaves the store as it was. Rows are
    /// written in batches of up to 8,192, so the sequence may be asked for thousands of rows after a faulty one. If
    /// several rows have errors, the error of the earliest row is thrown.
    @discardableResult
    public func execute(_ request: BatchInsertRequest) throws -> Int {
        try withPublicErrors {
            var rows: AnyIterator<[Value]>?
            return try insertRows(into: request.entityName, request.onUniqueConflict, { rows = try request.rows($0) }) {
                rows?.next()
            }
        }
    }

    /// Inserts rows like a `BatchInsertRequest`. The closure returns one row at a time, and nil at the end. If it
    /// throws, nothing is saved.
    @discardableResult
    public func insertRows(
        into entityName: String, onUniqueConflict: UniqueConflictPolicy = .error, next: () throws -> [Value]?
    ) throws -> Int {
        try withPublicErrors { try insertRows(into: entityName, onUniqueConflict, { _ in }, next) }
    }

    private func insertRows(
        into entityName: String, _ onUniqueConflict: UniqueConflictPolicy,
        _ prepare: (Entity) throws -> Void, _ next: () throws -> [Value]?
    ) throws -> Int {
        try batch { writer in
            let number = try writer.model.number(of: entityName)
            let entity = writer.model.entities[number]
            try prepare(entity)
            if onUniqueConflict == .update, entity.uniqueConstraints.isEmpty {
                throw RequestError.wrongType(
                    "\(entityName) has no unique attribute by which rows could update objects")
            }
            var insertion = RowInsertion(into: number, onUniqueConflict, writer)
            do {
                while let values = try next() { try insertion.insert(values) }
            } catch {
                // If an earlier row of the batch has an error, `write` throws that error instead.
                try insertion.write()
                throw error
            }
            try insertion.write()
            return insertion.count
        }
    }

    /// Updates the objects that match a request in one transaction, then advances the context. The predicate is
    /// evaluated on stored values; unsaved edits are ignored. Returns the number of changed objects.
    @discardableResult
    public func execute(_ request: BatchUpdateRequest) throws -> Int {
        try withPublicErrors {
            try batch { writer in
                let definition = OrderDefinition(
                    entity: request.entityName, predicate: request.predicate,
                    includesSubentities: request.includesSubentities)
                let model = writer.model
                var values: [Int: [Int: Value]] = [:]
                for number in try definition.entities(in: model) {
                    let entity = model.entities[number]
                    for (name, value) in request.propertiesToUpdate {
                        let slot = try entity.requireSlot(of: name)
                        try entity.validate(value, of: entity.attribute(at: slot))
                        values[number, default: [:]][slot] = value
                    }
                }
                var count = 0
                for object in try members(of: definition, in: writer) {
                    let entity = model.entities[object.entity]
                    var record: [UInt8] = []
                    _ = try writer.record(object) {
                        record = try entity.record($0, setting: values[object.entity] ?? [:])
                    }
                    if try writer.update(object, record.span.bytes) { count += 1 }
                }
                return count
            }
        }
    }

    /// Deletes the objects that match a request in one transaction, then advances the context. The predicate is
    /// evaluated on stored values; unsaved edits are ignored. Returns the number of matching objects; other objects
    /// that a delete rule deletes with them aren't counted.
    @discardableResult
    public func execute(_ request: BatchDeleteRequest) throws -> Int {
        try withPublicErrors {
            try batch { writer in
                let definition = OrderDefinition(
                    entity: request.entityName, predicate: request.predicate,
                    includesSubentities: request.includesSubentities)
                let members = try members(of: definition, in: writer)
                try writer.delete(members)
                return members.count
            }
        }
    }

    private func batch(_ body: (StoreWriter) throws -> Int) throws -> Int {
        try delivery.requireNone()
        processPendingChanges()
        let writer = try container.store.beginWrite(author: transactionAuthor, limit: writeTimeout)
        let count = try body(writer)
        try commit(writer, Written(edits: nil))
        return count
    }

    /// Collects all matching objects, because writing an object would disturb the cursor that finds the next one.
    private func members(of definition: OrderDefinition, in writer: StoreWriter) throws -> [RecordKey] {
        var members: [RecordKey] = []
        try definition.compile(in: writer.model).builder.walkMembers(of: writer) {
            members.append($0)
            return true
        }
        return members
    }
}
