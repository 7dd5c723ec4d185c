internal import FetchIndexOrderCaches
public import FetchIndexModels
internal import FetchIndexPredicates
internal import FetchIndexRecords

extension ManagedObjectContext {
    /// Returns the objects that match a request, with the context's unsaved edits unless the request excludes them.
    /// O(n) for n records of the entity, O(n log n) with sort keys or key paths, besides O(u log u) for u unsaved
    /// edits; possibly less if the predicate limits the leading attribute of a current cache, a unique attribute, a
    /// related object or the ids of objects. Throws `StoreError`; `RequestError`, `FetchPredicateError`,
    /// `ContextError`, `UnknownLocale`, `UnknownTimeZone` or `UnusableCalendar` if the request is invalid or doesn't
    /// fit the model or the class.
    public func fetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [Object] {
        try withPublicErrors {
            try use(Object.self, for: request.entityName)
            let keys = try keys(request)
            if !request.relationshipKeyPathsForPrefetching.isEmpty { try readAhead(keys, request) }
            return try keys.map { try typedObject(with: $0, as: Object.self) }
        }
    }

    private func readAhead<Object: ManagedObject>(_ keys: [RecordKey], _ request: FetchRequest<Object>) throws {
        let model = model
        let state = ChangedState(core.edits.reported, over: try snapshot())
        for entity in try request.definition().entities(in: model) {
            let objects = keys.filter { $0.entity == entity }
            for name in request.relationshipKeyPathsForPrefetching {
                try RelatedPath.named(name, from: entity, in: model).readAhead(from: objects, in: state)
            }
        }
    }

    /// Returns the number of objects that a fetch would return. O((unsaved edits + caches) x log n) without a
    /// predicate, or if the predicate is true exactly for a range of a current cache's rows; otherwise costs as much as
    /// a fetch without sort keys and limit. Throws the errors of `fetch`.
    public func count<Object: ManagedObject>(for request: FetchRequest<Object>) throws -> Int {
        try withPublicErrors {
            try mergeIfWanted()
            processPendingChanges()
            let count = try savedCount(request) ?? walkedCount(request)
            return min(max(0, count - request.offset), request.limit ?? .max)
        }
    }

    private func walkedCount<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> Int {
        var definition = request.definition()
        definition.sortKeys = []
        var count = 0
        try walk(definition, includesPending: request.includesPendingChanges) { _ in
            count += 1
            return true
        }
        return count
    }

    /// The count from the entities' counters or the ranks in a cache, corrected by the unsaved edits if the request
    /// includes them; nil if records must be read.
    private func savedCount<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> Int? {
        let snapshot = try snapshot()
        let model = snapshot.model
        let number = try model.number(of: request.entityName)
        let entities = try request.definition().entities(in: model)
        var compiled: [Int: CompiledPredicate] = [:]
        var count = Int(clamping: try snapshot.count(of: entities))
        if let predicate = request.predicate {
            func prepare(_ number: Int) throws -> (CompiledPredicate, PathTable) {
                let table = PathTable(ofEntity: number, in: model, predicate)
                return (try CompiledPredicate(predicate, model.entities[number], table), table)
            }
            let (prepared, table) = try prepare(number)
            // Caches can't count by values of related objects.
            if !table.allPaths.isEmpty { return nil }
            let planner = try FetchPlanner(
                predicate, prepared, table, entity: number, among: entities, in: snapshot,
                core.leadingOrders(of: number, among: entities))
            guard let exact = try planner.exactCountUnlessDamaged() else { return nil }
            count = exact
            for entity in entities { compiled[entity] = entity == number ? prepared : try prepare(entity).0 }
        }
        func matches(_ object: RecordKey, _ record: [UInt8]?) throws -> Int {
            guard let record else { return 0 }
            let missing = model.entities[object.entity].missingValues
            let view = try RecordView(record.span.bytes, missing: missing.span.bytes)
            return try compiled[object.entity]?.evaluate(view) ?? true ? 1 : 0
        }
        if request.includesPendingChanges {
            for edit in reportedEdits where entities.contains(edit.object.entity) {
                count += try matches(edit.object, edit.new) - matches(edit.object, edit.old)
            }
        }
        return count
    }

    /// Fetches objects, ids, a count or dictionaries, as the request's type says. Throws the errors of `fetch`.
    public func execute<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> FetchResult<Object> {
        try withPublicErrors {
            switch request.resultType {
            case .objects: .objects(try fetch(request))
            case .objectIDs: .objectIDs(try identifiers(request))
            case .dictionaries: .dictionaries(try dictionaries(request))
            case .count: .count(try count(for: request))
            }
        }
    }

    private func identifiers<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [ObjectID] {
        try keys(request).map { id(of: $0) }
    }

    /// Fetches dictionaries. If results must be distinct, duplicates are removed before offset and limit are applied.
    private func dictionaries<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [[String: Value]] {
        let model = model
        let entity = model.entities[try model.number(of: request.entityName)]
        let names = request.propertiesToFetch ?? entity.attributes.map(\.name)
        var slots: [Int: [(name: String, slot: Int)]] = [:]
        for number in try request.definition().entities(in: model) {
            slots[number] = try names.map { ($0, try model.entities[number].requireSlot(of: $0)) }
        }
        var wanted = request
        if request.returnsDistinctResults { (wanted.fetchOffset, wanted.fetchLimit) = (0, 0) }
        var seen: Set<[UInt8]> = []
        var dictionaries: [[String: Value]] = []
        for id in try keys(wanted) {
            let record = request.includesPendingChanges ? viewedRecord(of: id) : savedRecord(of: id)
            guard let record else { continue }
            let values = try model.entities[id.entity].valuesBySlot(of: record.span.bytes)
            let slots = slots[id.entity] ?? []
            if request.returnsDistinctResults {
                var key: [UInt8] = []
                for slot in slots { OrderKey.append(values[slot.slot], to: &key) }
                guard seen.insert(key).inserted, seen.count > request.offset else { continue }
            }
            dictionaries.append(Dictionary(slots.map { ($0.name, values[$0.slot]) }) { first, _ in first })
            if request.returnsDistinctResults, dictionaries.count == request.limit { break }
        }
        return dictionaries
    }

    /// An object's record with its unsaved edits, as of the last time that edits were processed.
    func viewedRecord(of id: RecordKey) -> [UInt8]? { core.edits.record(of: id, saved: savedRecord(of: id)) }

    private func keys<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [RecordKey] {
        try mergeIfWanted()
        processPendingChanges()
        var skipped = 0
        var found: [RecordKey] = []
        // The limit of the walk includes the offset; their sum may overflow.
        let most = request.limit.map { request.offset.addingReportingOverflow($0) }.map { $1 ? .max : $0 }
        try walk(request.definition(), includesPending: request.includesPendingChanges, atMost: most ?? .max) { id in
            if skipped < request.offset {
                skipped += 1
            } else {
                found.append(id)
            }
            return found.count < request.limit ?? .max
        }
        return found
    }

    private func walk(
        _ definition: OrderDefinition, includesPending: Bool, atMost most: Int = .max,
        _ body: (RecordKey) throws -> Bool
    ) throws {
        let edits = includesPending ? core.edits.reported : [:]
        let (request, selection) = try plan(definition, most: most, besides: edits)
        try request.builder.walkMembers(
            of: try snapshot(), from: selection, replacing: edits,
            definition.sortKeys.isEmpty ? .byNumber : .byRow(most: most), body)
    }

    /// Compiles a definition, and selects the records in the context's state on which its predicate must be evaluated.
    /// The fetch needs only the first `most` members. Those of `edits` may be missing among the selected records.
    func plan(
        _ definition: OrderDefinition, most: Int = .max, besides edits: [RecordKey: [UInt8]?] = [:]
    ) throws -> (request: OrderRequest, selection: RecordSelection) {
        let snapshot = try snapshot()
        let entity = try snapshot.model.number(of: definition.entity)
        let entities = try definition.entities(in: snapshot.model)
        let needsOrders = definition.predicate != nil || most < .max
        let orders = needsOrders ? try core.leadingOrders(of: entity, among: entities) : []
        return try definition.plan(in: snapshot, leadingOrders: orders, most: most, besides: edits)
    }

    /// The saved record of an object in the context's state; nil if the record is missing or can't be read.
    func savedRecord(of id: RecordKey) -> [UInt8]? {
        do { return try core.readRecord(of: id) } catch {
            note(error)
            return nil
        }
    }

    func mergeIfWanted() throws { if core.mergesWhenUsed, !delivery.isUnderWay { try mergeChanges() } }

    /// Returns the object with an id. Throws the errors of `existingObject(with:as:)`.
    public func existingObject(with id: ObjectID) throws -> ManagedObject {
        try withPublicErrors {
            try existingObject(with: id, as: ManagedObject.self)
        }
    }

    /// Returns the object with an id as an object of a class. Throws `StoreError.unknownObject` if the object doesn't
    /// exist or is deleted in the context, `StoreError.corrupted` if its record can't be read,
    /// `ContextError.wrongClass` if the context uses a class for the entity that is neither `type` nor a subclass, and
    /// `ContextError.otherStore` for an id of another store.
    public func existingObject<Object: ManagedObject>(with id: ObjectID, as type: Object.Type) throws -> Object {
        try withPublicErrors {
            let key = try container.key(of: id)
            guard model.entities.indices.contains(key.entity) else { throw StoreError.unknownObject("\(id.number)") }
            if type != ManagedObject.self { try use(type, for: model.entities[key.entity].name) }
            let object: Object = try typedObject(with: key, as: type)
            if object.isFault, try core.readRecord(of: key) == nil { throw StoreError.unknownObject("\(id.number)") }
            guard object.currentRecord() != nil else { throw StoreError.unknownObject("\(id.number)") }
            return object
        }
    }

    /// The id of the object with an object number in an entity, whether or not the object exists. Throws
    /// `StoreError.unknownEntity`.
    public func objectID(of entityName: String, number: UInt64) throws -> ObjectID {
        try withPublicErrors { id(of: RecordKey(entity: try model.number(of: entityName), number: number)) }
    }
}
