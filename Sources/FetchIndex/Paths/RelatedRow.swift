internal import FetchIndexModels
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexValues

/// A record as a row for predicates. Key paths read values of related records.
struct RelatedRow: PredicateRow, ~Escapable {
    private let record: RecordView
    private let bytes: RawSpan
    private let place: RelatedPlace

    @_lifetime(copy record, copy bytes)
    init(_ record: RecordView, _ bytes: RawSpan, _ place: RelatedPlace) {
        self.record = record
        self.bytes = bytes
        self.place = place
    }

    /// Calls the body with a record, and with the attribute's slot in this record: the row's own record for a slot of
    /// the entity, or the first record at the end of a path for the slot of a path. Returns the body's result; nil if
    /// the path leads to no object, or doesn't end with an attribute.
    func end<Result>(of slot: Int, _ body: (RecordView, Int) throws -> Result?) throws -> Result? {
        guard let index = PathTable.path(ofSlot: slot) else { return try body(record, slot) }
        let path = place.paths[index]
        var result: Result?
        try path.forEachEnd(of: place.object, bytes, in: place.state) { object, bytes in
            guard let end = path.ends?[object.entity] else { return false }
            let missing = end.missingValues
            let view = try RecordView(bytes, missing: missing.span.bytes)
            result = try body(view, end.slot)
            return false
        }
        return result
    }

    /// The name of the entity of the object to which a path leads. Nil if the slot doesn't belong to a path to an
    /// entity's name; `.some(nil)` if the path doesn't lead to an object.
    private func entityName(at slot: Int) throws -> String?? {
        guard let index = PathTable.path(ofSlot: slot), place.paths[index].givesEntities else { return .none }
        let key = try place.paths[index].endKey(of: place.object, bytes, in: place.state)
        return .some(key.flatMap { place.entityName(of: $0) })
    }

    /// The key of the object to which a path leads. Nil if the slot doesn't belong to a path that ends with an object
    /// or its key; `.some(nil)` if the path doesn't lead to an object.
    private func key(at slot: Int) throws -> Int64?? {
        guard let index = PathTable.path(ofSlot: slot), place.paths[index].ends == nil,
            !place.paths[index].givesEntities
        else { return .none }
        let key = try place.paths[index].endKey(of: place.object, bytes, in: place.state)
        return .some(key.map { Int64(bitPattern: $0.rawValue) })
    }

    func integer(at slot: Int) throws -> Int64? {
        if let key = try key(at: slot) { return key }
        return try end(of: slot) { try $0.integer(at: $1) }
    }

    func double(at slot: Int) throws -> Double? { try end(of: slot) { try $0.double(at: $1) } }

    func test(at slot: Int, _ test: TextTest) throws -> Bool? {
        if let name = try entityName(at: slot) { return try name.map { try test.matches($0) } }
        return try end(of: slot) { try $0.test(at: $1, test) }
    }

    func bytes<Result>(at slot: Int, _ body: (RawSpan) throws -> Result) throws -> Result? {
        try end(of: slot) { try $0.bytes(at: $1, body) }
    }

    func value(at slot: Int, as type: ValueType?) throws -> PredicateValue {
        guard let index = PathTable.path(ofSlot: slot) else { return try record.value(at: slot, as: type) }
        let path = place.paths[index]
        guard path.isToMany else {
            if let key = try key(at: slot) { return .one(key.map { .integer($0) } ?? .null) }
            if let name = try entityName(at: slot) { return .one(name.map { .string($0) } ?? .null) }
            return try end(of: slot) { try $0.value(at: $1, as: type) } ?? .one(.null)
        }
        var values: [PredicateValue] = []
        try path.forEachEnd(of: place.object, bytes, in: place.state) { object, bytes in
            if let end = path.ends?[object.entity] {
                let missing = end.missingValues
                let view = try RecordView(bytes, missing: missing.span.bytes)
                values.append(try view.value(at: end.slot, as: path.type))
            } else if path.givesEntities {
                values.append(.one(place.entityName(of: object).map { .string($0) } ?? .null))
            } else if path.givesKeys {
                values.append(.one(object.reference))
            } else {
                values.append(try place.values(of: object, bytes))
            }
            return true
        }
        return .list(values)
    }

    func count(at slot: Int) throws -> Int {
        guard let index = PathTable.path(ofSlot: slot) else { return 0 }
        return try place.paths[index].endCount(of: place.object, bytes, in: place.state)
    }

    var object: PredicateValue { .one(.null) }
}

/// The row's object, at which its key paths begin, and the state in which the paths are followed.
struct RelatedPlace {
    let object: RecordKey
    let state: any RecordState
    let paths: [RelatedPath]
    let model: Model
    let usedNames: Set<String>

    func entityName(of object: RecordKey) -> String? {
        model.entities.indices.contains(object.entity) ? model.entities[object.entity].name : nil
    }

    /// An object as a dictionary of the values that the predicate uses, including dictionaries of related objects.
    func values(of object: RecordKey, _ record: RawSpan, depth: Int = 0) throws -> PredicateValue {
        guard model.entities.indices.contains(object.entity) else { return .one(.null) }
        let entity = model.entities[object.entity]
        let view = try RecordView(record, of: entity)
        var values: [String: PredicateValue] = [
            RelatedPath.keyName: .one(object.reference)
        ]
        for name in usedNames {
            if let slot = entity.slot(of: name) {
                values[name] = try view.value(at: slot, as: entity.type(at: slot))
            } else if depth < 3,
                let path = try RelatedPath.following(
                    [name], from: object.entity, in: model), !path.steps.isEmpty
            {
                var related: [PredicateValue] = []
                try path.forEachEnd(of: object, record, in: state) { other, bytes in
                    related.append(try self.values(of: other, bytes, depth: depth + 1))
                    return true
                }
                values[name] = path.isToMany ? .list(related) : related.first ?? .one(.null)
            } else if name == RelatedPath.entityName {
                values[name] = .one(.string(entity.name))
            }
        }
        return .dictionary(values)
    }
}
