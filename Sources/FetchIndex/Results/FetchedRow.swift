public import FetchIndexModels
internal import FetchIndexRecords
public import FetchIndexValues

/// A row of a fetched order: the object's id, the row's path, and its values, which are decoded on demand.
public struct FetchedRow: ~Escapable {
    public let id: ObjectID
    public let path: RowPath
    /// The object's entity, which may be a subentity of the requested one.
    public let entity: Entity
    /// The slots of the attributes of the requested entity.
    private let slots: [Int]
    private let record: RecordView
    private let bytes: RawSpan
    /// The state in which the records that key paths lead to are read.
    private let state: any RecordState

    @_lifetime(copy record, copy bytes)
    init(
        id: ObjectID, path: RowPath, entity: Entity, slots: [Int], record: RecordView, bytes: RawSpan,
        _ state: any RecordState
    ) {
        self.id = id
        self.path = path
        self.entity = entity
        self.slots = slots
        self.record = record
        self.bytes = bytes
        self.state = state
    }

    /// The value of an attribute. O(length of the value). Throws `StoreError.unknownAttribute`, and
    /// `StoreError.corrupted`.
    public func value(of attribute: String) throws -> Value {
        try withPublicErrors { try value(ofSlot: entity.requireSlot(of: attribute)) }
    }

    /// The value of the attribute at an index of the requested entity's attributes. Throws `StoreError.corrupted`.
    public func value(at index: Int) throws -> Value {
        try withPublicErrors { try value(ofSlot: slots[index]) }
    }

    private func value(ofSlot slot: Int) throws -> Value {
        try record.value(at: slot, as: entity.type(at: slot))
    }

    /// The value of a column; null if its path leads to no object. O(steps x log n + length of the value).
    package func value(of column: FetchedColumn) throws -> Value {
        switch column.source {
        case .attribute(let index): return try value(ofSlot: slots[index])
        case .path(let paths):
            guard let path = paths[id.key.entity] else { return .null }
            guard let ends = path.ends else {
                let object = try path.endKey(of: id.key, bytes, in: state)
                return object.map { .integer(Int64($0.number)) } ?? .null
            }
            var value = Value.null
            try path.forEachEnd(of: id.key, bytes, in: state) { object, record in
                guard let end = ends[object.entity] else { return false }
                let missing = end.missingValues
                let view = try RecordView(record, missing: missing.span.bytes)
                value = try view.value(at: end.slot, as: column.type)
                return false
            }
            return value
        }
    }

    /// Calls the body with the UTF-8 bytes of a column's text value. Returns false if the value is null or not a text,
    /// or if the column is a path.
    package func text(of column: FetchedColumn, _ body: (UnsafeRawBufferPointer) -> Void) throws -> Bool {
        guard case .attribute(let index) = column.source else { return false }
        return try text(at: index, body)
    }

    /// Calls the body with the UTF-8 bytes of a text value in place. False when the value is null or no text.
    package func text(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        let slot = slots[index]
        guard entity.type(at: slot) == .string, let range = try record.range(of: slot) else { return false }
        try record.bytes(range).withUnsafeBytes(body)
        return true
    }
}

/// A column of rows: an attribute, or a key path through to-one relationships.
package struct FetchedColumn {
    enum Source {
        /// An attribute, by its index among those of the requested entity.
        case attribute(Int)
        /// A key path, by the entity of the row.
        case path([Int: RelatedPath])
    }

    package let name: String
    /// The type of the value; for an object at the end of a path, that of its number.
    package let type: ValueType
    let source: Source

    init(attribute index: Int, of entity: Entity) {
        self.init(entity.attributes[index].name, entity.attributes[index].type, .attribute(index))
    }

    private init(_ name: String, _ type: ValueType, _ source: Source) {
        (self.name, self.type, self.source) = (name, type, source)
    }

    /// Resolves a column for rows of several entities; the first one is the requested entity.
    package init(_ name: String, of entities: [Int], in model: Model) throws {
        let entity = model.entities[entities[0]]
        if let index = entity.attributes.firstIndex(where: { $0.name == name }) {
            self.init(attribute: index, of: entity)
            return
        }
        let names = name.pathNames
        var paths: [Int: RelatedPath] = [:]
        for number in entities {
            guard let path = try RelatedPath.following(names, from: number, in: model), !path.steps.isEmpty,
                path.nameCount == names.count
            else { throw StoreError(entity.unknownAttribute(name)) }
            guard !path.isToMany else {
                throw RequestError.wrongType("\(entity.name).\(name) leads to many objects, and has no single value")
            }
            paths[number] = path
        }
        self.init(name, paths[entities[0]]?.type ?? .integer, .path(paths))
    }
}
