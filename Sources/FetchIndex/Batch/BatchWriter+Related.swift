package import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexEssentials

/// An object that a row of a file is related to.
package enum RelatedObject {
    /// The row has no value for the relationship: a stored object keeps its related objects.
    case absent
    case none
    /// The object with this value of a unique attribute.
    case named(Value)
    case object(RowLink)
    case list([RowLink])
}

/// A link of a row: the linked object, and the link's positions if they are known.
package struct RowLink {
    package let object: RecordKey
    /// The linked object's position among the related objects of the row's object. In a to-one relationship: the
    /// position of the row's object among the related objects of the linked one.
    package let position: [UInt8]?
    /// The position of the row's object among the related objects of the linked one.
    package let otherPosition: [UInt8]?

    package init(_ object: RecordKey, position: [UInt8]? = nil, otherPosition: [UInt8]? = nil) {
        (self.object, self.position, self.otherPosition) = (object, position, otherPosition)
    }
}

/// A row of a file with related objects.
struct LinkedRow {
    let record: [UInt8]
    /// The number of the row's object; nil if the object gets the next free number.
    let number: UInt64?
    /// The related objects, one entry for each column.
    let related: [RelatedObject]
    let kept: KeptSlots?

    init(_ record: [UInt8], number: UInt64?, _ related: [RelatedObject], keeping kept: KeptSlots? = nil) {
        (self.record, self.number, self.related, self.kept) = (record, number, related, kept)
    }
}

// Writes rows with related objects one by one.
extension BatchWriter {
    /// Inserts a row's object, or updates the object with its number or unique value. Returns the outcome, and the
    /// links that can't be made yet. O(log n) for each link.
    func write(
        _ row: LinkedRow, _ columns: [RelatedColumn]
    ) throws -> (outcome: WriteOutcome, missing: [MissingLink]) {
        if !hasOpenTransaction { for column in columns { column.forget() } }
        let writer = try transaction()
        try requireDestinations(row, columns, in: writer)
        let stored = try storedObject(of: row, in: writer)
        var old: [UInt8]?
        if let stored { old = try writer.copy(of: stored) }
        var missing: [(link: RowLink, column: RelatedColumn)] = []
        var references: [(column: RelatedColumn, link: RowLink?)] = []
        for (column, related) in zip(columns, row.related) where column.kind == .one {
            var link: RowLink?
            switch related {
            case .absent: continue
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
            if let taken = link, try isTaken(taken, column, old, in: writer), old != nil || column.reference.isOptional
            {
                // A later row may link the present holder of the link to another object.
                missing.append((taken, column))
                if old != nil { continue }
                link = nil
            }
            references.append((column, link))
        }
        var outcome = try write(row, references, stored, old, in: writer)
        counts.add(outcome)
        for (column, related) in zip(columns, row.related) where column.kind == .list {
            let links: [RowLink]
            switch related {
            case .absent, .named: continue
            case .none: links = []
            case .object(let link): links = [link]
            case .list(let list): links = list
            }
            let set = try setLinks(links, of: outcome.object, column, in: writer)
            missing += set.missing.map { ($0, column) }
            if set.isChanged && outcome.isUnchanged {
                noteLinked()
                outcome = .updated(outcome.object)
            }
        }
        return (
            outcome,
            missing.map { MissingLink(outcome.object, $0.link, $0.column, ofUnchanged: outcome.isUnchanged) }
        )
    }

    /// Whether another object holds the only link that the linked object may have.
    private func isTaken(
        _ link: RowLink, _ column: RelatedColumn, _ old: [UInt8]?, in writer: StoreWriter
    ) throws -> Bool {
        guard column.kind == .one, column.reference.isUnique,
            try writer.linkCount(column.reference.name, to: link.object) > 0
        else { return false }
        guard let old else { return true }
        let entity = entity
        let target = try RecordView(old.span.bytes, of: entity).integer(at: column.reference.slot)
        return target != Int64(bitPattern: link.object.rawValue)
    }

    /// Returns a row's record with its references. All columns of the row's related objects are plain
    /// (`RelatedColumn.isPlain`). Inserts missing objects if their column allows it, and otherwise throws
    /// `invalidValue`. O(log n) for each object that wasn't named before.
    func record(of row: LinkedRow, _ columns: [RelatedColumn]) throws -> [UInt8] {
        if !hasOpenTransaction { for column in columns { column.forget() } }
        let writer = try transaction()
        var values: [Int: Value] = [:]
        for (column, related) in zip(columns, row.related) {
            guard case .named(let value) = related else { continue }
            values[column.reference.slot] = try column.object(named: value, for: entity, in: writer)?.reference
        }
        return values.isEmpty ? row.record : try entity.record(row.record.span.bytes, setting: values)
    }

    private func write(
        _ row: LinkedRow, _ references: [(column: RelatedColumn, link: RowLink?)], _ stored: RecordKey?,
        _ old: [UInt8]?,
        in writer: StoreWriter
    ) throws -> WriteOutcome {
        var values: [Int: Value] = [:]
        for (column, link) in references {
            values[column.reference.slot] = link?.object.reference ?? .null
            values[column.reference.position] = try position(of: link, column, old, in: writer)
        }
        let record = try entity.record(row.record.span.bytes, setting: values)
        guard let stored, let old else {
            if let slot = row.kept?.requiredSlot {
                throw StoreError.invalidValue(
                    entity: entity.name, attribute: entity.attribute(at: slot).name, "is required in a new object")
            }
            let number = constraint == nil ? row.number : nil
            return .inserted(try writer.insert(entityNumber, record.span.bytes, as: number))
        }
        let kept = (row.kept?.slots ?? []).union(entity.relationshipSlots.filter { values[$0] == nil })
        let merged = try entity.record(from: record.span.bytes, keeping: kept, of: old.span.bytes)
        let isChanged = try writer.update(stored, merged.span.bytes)
        return isChanged ? .updated(stored) : .unchanged(stored)
    }

    /// Counts an object as updated instead of unchanged, because its links changed.
    func noteLinked() {
        counts.unchanged -= 1
        counts.updated += 1
    }

    /// Throws `invalidValue` for a related object whose entity the relationship doesn't lead to. Called before anything
    /// of the row is written.
    private func requireDestinations(
        _ row: LinkedRow, _ columns: [RelatedColumn], in writer: StoreWriter
    ) throws {
        for (column, related) in zip(columns, row.related) {
            let links: [RowLink]
            switch related {
            case .absent, .none, .named: links = []
            case .object(let link): links = [link]
            case .list(let list): links = list
            }
            let destinations = (column.join?.far ?? column.reference).destinations
            for link in links where !destinations.contains(link.object.entity) {
                let name = Self.name(of: link.object, in: writer)
                throw StoreError.invalidValue(
                    entity: entity.name, attribute: column.relationship, "refers to \(name), which is of another entity"
                )
            }
        }
    }

    static func name(of object: RecordKey, in writer: StoreWriter) -> String {
        let entities = writer.model.entities
        return "\(entities.indices.contains(object.entity) ? entities[object.entity].name : "object") \(object.number)"
    }

    /// Finds the object that a row updates; nil if the row is a new object. With a key, the key decides. Throws
    /// `invalidValue` if the row's number is the number of an object with another key.
    private func storedObject(of row: LinkedRow, in writer: StoreWriter) throws -> RecordKey? {
        var numbered: RecordKey?
        if let number = row.number {
            let object = RecordKey(entity: entityNumber, number: number)
            if try writer.record(object, { _ in }) { numbered = object }
        }
        guard let constraint else { return numbered }
        let found = try writer.object(entityNumber, constraint, inRecord: row.record.span.bytes)
        let keyed = found.flatMap { $0.entity == entityNumber ? $0 : nil }
        if let numbered, keyed != numbered {
            throw StoreError.invalidValue(
                entity: entity.name, attribute: RecordKey.numberName(entity.has),
                "is \(numbered.number), but the object with that number has another \(entity.name(of: constraint))")
        }
        return keyed
    }

    /// The position of a row's object among the related objects of the object that it refers to: the given position,
    /// its old position, or the last.
    func position(
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

    /// The position after all links of an object.
    func lastPosition(
        _ reference: EntityLinks.Reference, of target: RecordKey, in writer: StoreWriter
    ) throws -> Value {
        let last = try writer.lastLink(reference.name, to: target)?.sortKey
        var position: [UInt8]?
        if let last, case .data(let bytes)? = OrderKey.first(in: last.span.bytes)?.value { position = Array(bytes) }
        return OrderedPosition.between(position, nil).map { .data(Data($0)) } ?? .null
    }
}
