internal import Records

/// Inserts rows without making objects. Rows are asked for one at a time until there are no more.
public struct BatchInsertRequest {
    public var entityName: String
    let next: () throws -> [Value]?

    /// `next` gives the values of a row in the order of the entity's attributes, and nil at the end.
    public init(entityName: String, next: @escaping () throws -> [Value]?) {
        self.entityName = entityName
        self.next = next
    }

    /// Inserts dictionaries; attributes that one does not name are null.
    public init(entityName: String, objects: [[String: Value]], in model: Model) throws {
        let entity = model.entities[try model.number(of: entityName)]
        for name in Set(objects.flatMap(\.keys)) { _ = try entity.requireSlot(of: name) }
        var rest = objects[...]
        self.init(entityName: entityName) {
            rest.popFirst().map { row in entity.attributes.map { row[$0.name] ?? .null } }
        }
    }
}

/// Gives attributes of all members of a predicate new values, without making objects.
public struct BatchUpdateRequest {
    public var entityName: String
    public var predicate: FetchPredicate?
    public var propertiesToUpdate: [String: Value]

    public init(entityName: String, predicate: FetchPredicate? = nil, propertiesToUpdate: [String: Value]) {
        self.entityName = entityName
        self.predicate = predicate
        self.propertiesToUpdate = propertiesToUpdate
    }
}

/// Deletes all members of a predicate, without making objects.
public struct BatchDeleteRequest {
    public var entityName: String
    public var predicate: FetchPredicate?

    public init(entityName: String, predicate: FetchPredicate? = nil) {
        self.entityName = entityName
        self.predicate = predicate
    }
}

extension ManagedObjectContext {
    /// Inserts rows in one transaction, then moves to its commit; controllers report them like any other change.
    /// Returns how many there were. O(rows), and memory for the pages written; where the context has objects or
    /// controllers of the entity, also for the rows that they are told of. An error leaves the store as it was.
    @discardableResult
    public func execute(_ request: BatchInsertRequest) throws -> Int {
        try batch { writer in
            let number = try writer.model.number(of: request.entityName)
            var assembler = writer.model.entities[number].assembler
            var count = 0
            while let values = try request.next() {
                let record = try assembler.record(values)
                try writer.insert(number, record.span.bytes)
                count += 1
            }
            return count
        }
    }

    /// Updates the members in one transaction, as above. Returns how many changed. Unsaved edits are not looked at.
    @discardableResult
    public func execute(_ request: BatchUpdateRequest) throws -> Int {
        try batch { writer in
            let number = try writer.model.number(of: request.entityName)
            let entity = writer.model.entities[number]
            let values = try request.propertiesToUpdate.map { (try entity.requireSlot(of: $0.key), $0.value) }
            var assembler = entity.assembler
            var count = 0
            for object in try members(of: request.predicate, request.entityName, in: writer) {
                var new: [Value] = []
                _ = try writer.record(object) { new = try entity.values(of: $0) }
                for (slot, value) in values { new[slot] = value }
                let record = try assembler.record(new)
                if try writer.update(object, record.span.bytes) { count += 1 }
            }
            return count
        }
    }

    /// Deletes the members in one transaction, as above. Returns how many there were.
    @discardableResult
    public func execute(_ request: BatchDeleteRequest) throws -> Int {
        try batch { writer in
            let members = try members(of: request.predicate, request.entityName, in: writer)
            for object in members { try writer.delete(object) }
            return members.count
        }
    }

    private func batch(_ body: (StoreWriter) throws -> Int) throws -> Int {
        if isDelivering { throw ContextError.delivering }
        processPendingChanges()
        let writer = try container.store.beginWrite(author: transactionAuthor)
        let count = try body(writer)
        try commit(writer, Written(edits: nil))
        return count
    }

    /// The ids only: writing while a cursor reads would disturb it.
    private func members(
        of predicate: FetchPredicate?, _ entityName: String, in writer: StoreWriter
    ) throws -> [ObjectID] {
        let definition = OrderDefinition(entity: entityName, predicate: predicate)
        var members: [ObjectID] = []
        try definition.compile(in: writer.model).builder.walkMembers(of: writer, replacing: [:], isSorted: false) {
            members.append($0)
            return true
        }
        return members
    }
}
