internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexValues

// Writing single rows of files, with their related objects.
extension RowWriter {
    /// Inserts a row's object, or updates the object with its number or key. Returns the outcome, and the links that
    /// can't be made yet. O(log n) for each old and new link.
    func write(_ row: LinkedRow) throws -> (outcome: WriteOutcome, missing: [MissingLink]) {
        try requireDestinations(of: row)
        let stored = try storedObject(of: row)
        let old = try stored.flatMap { try transaction.copy(of: $0) }
        let (references, missing) = try references(of: row, old, stored)
        var unmade = missing
        var outcome = try write(row, freeing: references, stored, old)
        try noteMutual(row, outcome.object, old, references, missing)
        for (column, related) in zip(table.columns, row.related) where column.kind == .list {
            guard let links = related.links else { continue }
            let set = try setLinks(links, of: outcome.object, column)
            unmade += set.missing.map { (column, $0) }
            if set.isChanged && outcome.isUnchanged { outcome = .updated(outcome.object) }
        }
        return (
            outcome,
            unmade.map {
                MissingLink(holder: outcome.object, link: $1, column: $0, isOfUnchanged: outcome.isUnchanged)
            }
        )
    }

    /// Returns the to-one references that a row sets, and its to-one links that can't be made yet.
    private func references(
        of row: LinkedRow, _ old: [UInt8]?, _ stored: RecordKey?
    ) throws -> (made: [(RelatedColumn, RowLink?)], missing: [(RelatedColumn, RowLink)]) {
        var missing: [(RelatedColumn, RowLink)] = []
        var references: [(RelatedColumn, RowLink?)] = []
        let object = stored ?? row.number.map { RecordKey(entity: table.entityNumber, number: $0) }
        for (column, related) in zip(table.columns, row.related) where column.kind == .one {
            var link: RowLink?
            switch related {
            case .absent: continue
            case .none, .list: break
            case .named(let value):
                link = try column.object(named: value, for: entity, in: transaction).map { RowLink($0) }
            case .object(let given):
                let mayComeLater = column.reference.isOptional && !column.reference.mayDangle
                if try mayComeLater && !transaction.record(given.object, { _ in }) {
                    if column.isMutual { try requireFree(given.object, for: object, column) }
                    missing.append((column, given))
                } else {
                    link = given
                }
            }
            if column.isMutual, mutual != nil {
                // A link that a row leaves out goes only at the end of the import.
                guard let target = link else { continue }
                try requireFree(target.object, for: object, column)
                references.append((column, target))
                continue
            }
            if let taken = link, try isTaken(taken, column, old), old != nil || column.reference.isOptional {
                // The linked object is linked to another holder, which a later row may link elsewhere.
                missing.append((column, taken))
                if old != nil { continue }
                link = nil
            }
            references.append((column, link))
        }
        return (references, missing)
    }

    /// Notes what a row says about to-one relationships that are their own inverses.
    private func noteMutual(
        _ row: LinkedRow, _ object: RecordKey, _ old: [UInt8]?, _ made: [(RelatedColumn, RowLink?)],
        _ missing: [(RelatedColumn, RowLink)]
    ) throws {
        guard let mutual else { return }
        for (column, related) in zip(table.columns, row.related) where column.isMutual && column.kind == .one {
            if case .absent = related { continue }
            let links = made.filter { $0.0 === column }.compactMap(\.1) + missing.filter { $0.0 === column }.map(\.1)
            let former = links.isEmpty ? try old.flatMap { try partner(in: $0, column) } : nil
            mutual.note(object, column, naming: Set(links.map(\.object)), omitting: former.map { [$0] } ?? [])
        }
    }

    /// Whether the linked object may have only one link, and another holder has it.
    private func isTaken(_ link: RowLink, _ column: RelatedColumn, _ old: [UInt8]?) throws -> Bool {
        guard column.kind == .one, column.reference.isUnique,
            try transaction.linkCount(column.reference.name, to: link.object) > 0
        else { return false }
        guard let old else { return true }
        let entity = entity
        let target = try RecordView(old.span.bytes, of: entity).integer(at: column.reference.slot)
        return target != Int64(bitPattern: link.object.rawValue)
    }

    /// Writes a row, and takes the objects that it names from their present partners, in relationships that are their own
    /// inverses. If the row is refused, the partners stay.
    private func write(
        _ row: LinkedRow, freeing references: [(RelatedColumn, RowLink?)], _ stored: RecordKey?, _ old: [UInt8]?
    ) throws -> WriteOutcome {
        var released: [(column: RelatedColumn, target: RecordKey, holders: [RecordKey])] = []
        if mutual != nil {
            for case (let column, let link?) in references where column.isMutual {
                let name = column.reference.name
                let holders = try transaction.releasePartners(of: link.object, name, except: stored)
                released.append((column, link.object, holders))
            }
        }
        do { return try write(row, references, stored, old) } catch {
            for (column, target, holders) in released {
                try transaction.restorePartners(holders, of: target, column.reference.name)
            }
            throw error
        }
    }

    private func write(
        _ row: LinkedRow, _ references: [(RelatedColumn, RowLink?)], _ stored: RecordKey?, _ old: [UInt8]?
    ) throws -> WriteOutcome {
        var values: [Int: Value] = [:]
        for (column, link) in references {
            values[column.reference.slot] = link?.object.reference ?? .null
            values[column.reference.position] = try position(of: link, column, old)
        }
        let record = try entity.record(row.record.span.bytes, setting: values)
        guard let stored, let old else {
            if let slot = row.kept?.requiredSlot {
                throw StoreError.invalidValue(
                    entity: entity.name, attribute: entity.attribute(at: slot).name, "is required in a new object")
            }
            let number = table.key == nil ? row.number : nil
            return .inserted(try transaction.insert(table.entityNumber, record.span.bytes, as: number))
        }
        let kept = (row.kept?.slots ?? []).union(entity.relationshipSlots.filter { values[$0] == nil })
        return try update(stored, entity.record(from: record.span.bytes, keeping: kept, of: old.span.bytes))
    }

    /// Throws `invalidValue` if the relationship doesn't lead to the entity of a related object. Called before the row
    /// is written.
    private func requireDestinations(of row: LinkedRow) throws {
        for (column, related) in zip(table.columns, row.related) {
            let destinations = (column.join?.far ?? column.reference).destinations
            for link in related.links ?? [] where !destinations.contains(link.object.entity) {
                throw StoreError.invalidValue(
                    entity: entity.name, attribute: column.relationship,
                    "refers to \(name(of: link.object)), which is of another entity")
            }
        }
    }

    /// The text by which errors name an object.
    func name(of object: RecordKey) -> String {
        let entities = transaction.model.entities
        return "\(entities.indices.contains(object.entity) ? entities[object.entity].name : "object") \(object.number)"
    }

    /// Finds the object that a row updates; nil if the row is a new object. If the table has a key, finds the object by
    /// it, and throws `invalidValue` if the row has the number of an object with another key.
    private func storedObject(of row: LinkedRow) throws -> RecordKey? {
        var numbered: RecordKey?
        if let number = row.number {
            let object = RecordKey(entity: table.entityNumber, number: number)
            if try transaction.record(object, { _ in }) { numbered = object }
        }
        guard let key = table.key else { return numbered }
        let keyed = own(try transaction.object(table.entityNumber, key, inRecord: row.record.span.bytes))
        if let numbered, keyed != numbered {
            throw StoreError.invalidValue(
                entity: entity.name, attribute: RecordKey.numberName(entity.has),
                "is \(numbered.number), but the object with that number has another \(entity.name(of: key))")
        }
        return keyed
    }

    // MARK: Positions

    /// The position of a row's object among the related objects of the object that it refers to: the given position;
    /// otherwise its old position, if it referred to that object before; otherwise the last position. Null if it refers
    /// to no object, or if the inverse relationship isn't ordered.
    func position(of link: RowLink?, _ column: RelatedColumn, _ old: [UInt8]?) throws -> Value {
        guard let link, column.isOrdered else { return .null }
        if let given = link.position { return .data(Data(given)) }
        let entity = entity
        if let old {
            let view = try RecordView(old.span.bytes, of: entity)
            if try view.integer(at: column.reference.slot) == Int64(bitPattern: link.object.rawValue) {
                return try view.value(at: column.reference.position, as: .data)
            }
        }
        return try lastPosition(column.reference, of: link.object)
    }

    /// The position after all links of an object.
    func lastPosition(_ reference: EntityLinks.Reference, of target: RecordKey) throws -> Value {
        let last = try transaction.lastLink(reference.name, to: target)?.sortKey
        var position: [UInt8]?
        if let last, case .data(let bytes)? = OrderKey.first(in: last.span.bytes)?.value { position = Array(bytes) }
        return OrderedPosition.between(position, nil).map { .data(Data($0)) } ?? .null
    }
}
