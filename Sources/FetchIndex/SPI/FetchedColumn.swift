internal import FetchIndexModels
internal import FetchIndexRecords
package import FetchIndexValues

/// A column of rows: an attribute, or a key path through to-one relationships.
///
/// For printers of rows, which look up a column's name once for many rows. Users ask a row for the value of an
/// attribute.
package struct FetchedColumn {
    enum Source {
        /// An attribute of the requested entity, by its index.
        case attribute(Int)
        /// A key path, resolved for each entity of the rows.
        case path([Int: RelatedPath])
    }

    package let name: String
    /// The type of the values. If the path ends at an object, the value is the object's number.
    package let type: ValueType
    let source: Source

    init(attribute index: Int, of entity: Entity) {
        self.init(entity.attributes[index].name, entity.attributes[index].type, .attribute(index))
    }

    private init(_ name: String, _ type: ValueType, _ source: Source) {
        (self.name, self.type, self.source) = (name, type, source)
    }

    /// Finds a column by its name. `entities` are the entities of the rows, the requested entity first.
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

extension FetchedRow {
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

    /// Calls the body with the UTF-8 bytes of an attribute's text, in place. Returns false if the column is a path, or
    /// the value is null or not a text.
    package func text(of column: FetchedColumn, _ body: (UnsafeRawBufferPointer) -> Void) throws -> Bool {
        guard case .attribute(let index) = column.source else { return false }
        return try text(at: index, body)
    }

    /// Calls the body with the UTF-8 bytes of the text of the attribute at an index, in place. Returns false if the
    /// value is null or not a text.
    package func text(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        let slot = slots[index]
        guard entity.type(at: slot) == .string, let range = try record.range(of: slot) else { return false }
        try record.bytes(range).withUnsafeBytes(body)
        return true
    }
}
