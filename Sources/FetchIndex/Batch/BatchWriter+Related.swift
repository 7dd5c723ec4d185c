internal import Models
internal import Records
internal import SystemBasics

/// An object that a row of a file is related to.
package enum RelatedObject {
    case none
    /// By the value of a unique attribute.
    case named(Value)
    case object(RowLink)
    case list([RowLink])
}

/// A link of a row: an object, and positions where they are known.
package struct RowLink {
    package let object: RecordKey
    /// Among the objects of the row; of a to-one relationship, the row's among those of the object.
    package let position: [UInt8]?
    /// The row's object's among those of the other object.
    package let otherPosition: [UInt8]?

    package init(_ object: RecordKey, position: [UInt8]? = nil, otherPosition: [UInt8]? = nil) {
        (self.object, self.position, self.otherPosition) = (object, position, otherPosition)
    }
}

/// A row of a file with related objects.
package struct LinkedRow {
    package let record: [UInt8]
    /// Of its object; nil: the next one.
    package let number: UInt64?
    /// In the order of the columns.
    package let related: [RelatedObject]

    package init(_ record: [UInt8], number: UInt64?, _ related: [RelatedObject]) {
        (self.record, self.number, self.related) = (record, number, related)
    }
}

// Rows with related objects, one by one.
extension BatchWriter {
    /// A link to an object that was not there yet when its row was written.
    package struct MissingLink {
        fileprivate let holder: RecordKey
        fileprivate let link: RowLink
        fileprivate let column: RelatedColumn
    }

    /// Inserts a row's object, or updates that which has its number or unique value. `kept` are the slots of which a stored object
    /// keeps its values. Returns the object's number, and the links to objects that are not there yet. O(log n) for each link.
    package func put(
        _ row: LinkedRow, _ columns: [RelatedColumn], keepingSlots kept: Set<Int>
    ) throws -> (number: UInt64, missing: [MissingLink]) {
        if !hasOpenTransaction { for column in columns { column.forget() } }
        let writer = try transaction()
        try requireDestinations(row, columns, in: writer)
        var missing: [(RowLink, RelatedColumn)] = []
        var references: [(column: RelatedColumn, link: RowLink?)] = []
        for (column, related) in zip(columns, row.related) where column.kind == .one {
            var link: RowLink?
            switch related {
            case .none, .list: break
            case .named(let value):
                link = try column.object(named: value, for: entity, in: writer).map { RowLink($0) }
            case .object(let given):
                let mayComeLater = column.reference.isOptional && !column.reference.mayDangle
                if try mayComeLater && !writer.record(given.object, { _ in }) {
                    missing.append((given, column))
                } else {
                    link = given
                }
            }
            references.append((column, link))
        }
        let object = try put(row, references, keepingSlots: kept, in: writer)
        for (column, related) in zip(columns, row.related) {
            guard case .list(let links) = related, column.kind == .list else { continue }
            missing += try setLinks(links, of: object, column, in: writer).map { ($0, column) }
        }
        return (object.number, missing.map { MissingLink(holder: object, link: $0.0, column: $0.1) })
    }

    /// A row's record with its references, where all its columns name single objects that have no order. Inserts what is missing, where
    /// that is wanted. Throws `invalidValue` for an object that is not there. O(log n) for each object that was not named before.
    package func record(of row: LinkedRow, _ columns: [RelatedColumn]) throws -> [UInt8] {
        if !hasOpenTransaction { for column in columns { column.forget() } }
        let writer = try transaction()
        var values: [Int: Value] = [:]
        for (column, related) in zip(columns, row.related) {
            guard case .named(let value) = related else { continue }
            values[column.reference.slot] = try column.object(named: value, for: entity, in: writer)?.reference
        }
        return values.isEmpty ? row.record : try entity.record(row.record.span.bytes, setting: values)
    }

    private func put(
        _ row: LinkedRow, _ references: [(column: RelatedColumn, link: RowLink?)], keepingSlots kept: Set<Int>,
        in writer: StoreWriter
    ) throws -> RecordKey {
        let stored = try storedObject(of: row, in: writer)
        var old: [UInt8]?
        if let stored { old = try writer.copy(of: stored) }
        var values: [Int: Value] = [:]
        for (column, link) in references {
            values[column.reference.slot] = link?.object.reference ?? .null
            values[column.reference.position] = try position(of: link, column, old, in: writer)
        }
        let record = try entity.record(row.record.span.bytes, setting: values)
        guard let stored, let old else {
            let inserted =
                try row.number.map { try writer.insert(entityNumber, record.span.bytes, as: $0) }
                ?? writer.insert(entityNumber, record.span.bytes)
            counts.inserted += 1
            return inserted
        }
        let kept = kept.union(entity.relationshipSlots.filter { values[$0] == nil })
        let merged = try entity.record(from: record.span.bytes, keeping: kept, of: old.span.bytes)
        if try writer.update(stored, merged.span.bytes) { counts.updated += 1 } else { counts.unchanged += 1 }
        return stored
    }

    /// Throws `invalidValue` for an object that its relationship does not lead to: before anything of the row is written.
    private func requireDestinations(
        _ row: LinkedRow, _ columns: [RelatedColumn], in writer: StoreWriter
    ) throws {
        for (column, related) in zip(columns, row.related) {
            let links: [RowLink]
            switch related {
            case .none, .named: links = []
            case .object(let link): links = [link]
            case .list(let list): links = list
            }
            let destinations = (column.join?.far ?? column.reference).destinations
            for link in links where !destinations.contains(link.object.entity) {
                let name = Self.name(of: link.object, in: writer)
                throw StoreError.invalidValue(
                    entity: entity.name, attribute: column.relationship, "refers to \(name), which it does not lead to")
            }
        }
    }

    private static func name(of object: RecordKey, in writer: StoreWriter) -> String {
        let entities = writer.model.entities
        return "\(entities.indices.contains(object.entity) ? entities[object.entity].name : "object") \(object.number)"
    }

    /// The object that a row updates; nil: it is a new one.
    private func storedObject(of row: LinkedRow, in writer: StoreWriter) throws -> RecordKey? {
        if let number = row.number {
            let object = RecordKey(entity: entityNumber, number: number)
            return try writer.record(object, { _ in }) ? object : nil
        }
        guard let constraint else { return nil }
        let object = try writer.object(entityNumber, constraint, inRecord: row.record.span.bytes)
        return object.flatMap { $0.entity == entityNumber ? $0 : nil }
    }

    /// Where a row's object stands among those of the one that it refers to: where it is told, where it stood, or last.
    private func position(
        of link: RowLink?, _ column: RelatedColumn, _ old: [UInt8]?, in writer: StoreWriter
    ) throws -> Value {
        guard let link, column.isOrdered else { return .null }
        if let given = link.position { return .data(Data(given)) }
        let entity = entity
        if let old {
            let view = try RecordView(old.span.bytes, of: entity)
            if try view.integer(at: column.reference.slot) == Int64(bitPattern: link.object.rawValue) {
                return try view.value(at: column.reference.position, as: .data)
            }
        }
        return try lastPosition(column.reference, of: link.object, in: writer)
    }

    /// After all links of an object.
    private func lastPosition(
        _ reference: EntityLinks.Reference, of target: RecordKey, in writer: StoreWriter
    ) throws -> Value {
        let last = try writer.lastLink(reference.name, to: target)?.sortKey
        var position: [UInt8]?
        if let last, case .data(let bytes)? = OrderKey.first(in: last.span.bytes)?.value { position = Array(bytes) }
        return OrderedPosition.between(position, nil).map { .data(Data($0)) } ?? .null
    }

    /// Gives an object exactly some links of a many-to-many relationship; returns those to objects that are not there yet.
    private func setLinks(
        _ links: [RowLink], of object: RecordKey, _ column: RelatedColumn, in writer: StoreWriter
    ) throws -> [RowLink] {
        guard let join = column.join else { return [] }
        let linkEntity = writer.model.entities[join.entity]
        let wanted = Set(links.map(\.object))
        for holder in try writer.holders(of: column.reference.name, to: object) {
            guard let record = try writer.copy(of: holder) else { continue }
            let view = try RecordView(record.span.bytes, of: linkEntity)
            let target = try view.integer(at: join.far.slot)
            if let target, !wanted.contains(RecordKey(rawValue: UInt64(bitPattern: target))) {
                try writer.delete(holder)
            }
        }
        var missing: [RowLink] = []
        for link in links {
            if try !add(link, to: object, column, in: writer) { missing.append(link) }
        }
        return missing
    }

    /// Adds a link of a many-to-many relationship, unless it is there; false when its object is not.
    private func add(
        _ link: RowLink, to object: RecordKey, _ column: RelatedColumn, in writer: StoreWriter
    ) throws -> Bool {
        guard let join = column.join else { return true }
        guard try writer.record(link.object, { _ in }) else { return false }
        let empty = RecordBuilder.empty
        let linkEntity = writer.model.entities[join.entity]
        let ends = [column.reference.slot: object.reference, join.far.slot: link.object.reference]
        var positions: [Int: Value] = [:]
        if let given = link.position { positions[column.reference.position] = .data(Data(given)) }
        if let given = link.otherPosition { positions[join.far.position] = .data(Data(given)) }
        let bare = try linkEntity.record(empty.span.bytes, setting: ends)
        if let known = try writer.join(like: bare.span.bytes, of: join.entity) {
            guard !positions.isEmpty, let old = try writer.copy(of: known) else { return true }
            let record = try linkEntity.record(old.span.bytes, setting: positions)
            try writer.update(known, record.span.bytes)
            return true
        }
        // Where a side is ordered and the file does not say how, new links come last.
        if column.isOrderedHere, link.position == nil {
            positions[column.reference.position] = try lastPosition(column.reference, of: object, in: writer)
        }
        if column.isOrdered, link.otherPosition == nil {
            positions[join.far.position] = try lastPosition(join.far, of: link.object, in: writer)
        }
        let record = try linkEntity.record(bare.span.bytes, setting: positions)
        try writer.insert(join.entity, record.span.bytes)
        return true
    }

    /// Writes a link whose object may be there by now. Throws `invalidValue` when it is not.
    package func settle(_ missing: MissingLink) throws {
        let (column, link) = (missing.column, missing.link)
        let writer = try transaction()
        if column.kind == .list {
            if try add(link, to: missing.holder, column, in: writer) { return }
        } else if try writer.record(link.object, { _ in }) {
            guard let old = try writer.copy(of: missing.holder) else { return }
            let values = [
                column.reference.slot: link.object.reference,
                column.reference.position: try position(of: link, column, nil, in: writer),
            ]
            let record = try entity.record(old.span.bytes, setting: values)
            try writer.update(missing.holder, record.span.bytes)
            return
        }
        throw StoreError.invalidValue(
            entity: entity.name, attribute: column.relationship,
            "refers to \(Self.name(of: link.object, in: writer)), which is not in the store")
    }
}
