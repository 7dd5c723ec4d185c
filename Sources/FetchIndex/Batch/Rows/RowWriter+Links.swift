internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexValues

/// A link that couldn't be made when its row was written, because the linked object was missing or, in a one-to-one
/// relationship, already linked.
struct MissingLink {
    let holder: RecordKey
    let link: RowLink
    let column: RelatedColumn
    /// Whether the row was counted as unchanged.
    let isOfUnchanged: Bool
}

// Links of many-to-many relationships, and links that are made after their rows were written.
extension RowWriter {
    /// Replaces an object's links of a many-to-many relationship. Returns the links to missing objects, and whether any
    /// link changed.
    func setLinks(
        _ links: [RowLink], of object: RecordKey, _ column: RelatedColumn
    ) throws -> (missing: [RowLink], isChanged: Bool) {
        guard let join = column.join else { return ([], false) }
        let linkEntity = transaction.model.entities[join.entity]
        let wanted = Set(links.map(\.object))
        var isChanged = false
        var omitted: [RecordKey] = []
        let mutual = column.isMutual ? mutual : nil
        for holder in try transaction.holders(of: column.reference.name, to: object) {
            guard let record = try transaction.copy(of: holder) else { continue }
            let view = try RecordView(record.span.bytes, of: linkEntity)
            let target = try view.integer(at: join.far.slot)
            guard let key = target.map({ RecordKey(reference: $0) }), !wanted.contains(key) else {
                continue
            }
            if mutual != nil {
                omitted.append(key)
            } else if try transaction.delete(holder) {
                isChanged = true
            }
        }
        mutual?.note(object, column, naming: wanted, omitting: omitted)
        var missing: [RowLink] = []
        for link in links {
            if let isNew = try add(link, to: object, column) {
                isChanged = isChanged || isNew
            } else {
                missing.append(link)
            }
        }
        return (missing, isChanged)
    }

    /// Removes a link that no row names, of a relationship that is its own inverse. The commit removes its turned link.
    /// Returns whether there was one.
    func removeLink(_ omission: MutualRows.Omission) throws -> Bool {
        let column = omission.column
        guard let join = column.join else {
            guard let old = try transaction.copy(of: omission.near),
                try partner(in: old, column) == omission.far
            else { return false }
            let record = try entity.record(
                old.span.bytes, setting: [column.reference.slot: .null, column.reference.position: .null])
            return try transaction.update(omission.near, record.span.bytes)
        }
        let ends = [column.reference.slot: omission.near.reference, join.far.slot: omission.far.reference]
        let empty = RecordBuilder.empty
        let record = try transaction.model.entities[join.entity].record(empty.span.bytes, setting: ends)
        guard let link = try transaction.join(like: record.span.bytes, of: join.entity) else { return false }
        return try transaction.delete(link)
    }

    /// The object to which a record of the table's entity refers.
    func partner(in record: [UInt8], _ column: RelatedColumn) throws -> RecordKey? {
        let entity = entity
        let view = try RecordView(record.span.bytes, of: entity)
        return try view.key(at: column.reference.slot)
    }

    /// Throws `invalidValue` if another row has related one of two objects to a third one, in a to-one relationship that is
    /// its own inverse. The first object is nil if it's new and has no number yet.
    func requireFree(_ target: RecordKey, for object: RecordKey?, _ column: RelatedColumn) throws {
        guard let (one, other) = mutual?.otherPair(than: object, target, column) else { return }
        throw StoreError.invalidValue(
            entity: entity.name, attribute: column.relationship,
            "names \(name(of: target)), but another row relates \(name(of: one)) to \(name(of: other))")
    }

    /// Takes an object from its stored partner, so that another object can become its partner. Throws like `requireFree`.
    func release(_ target: RecordKey, for object: RecordKey?, _ column: RelatedColumn) throws {
        if mutual == nil { return }
        try requireFree(target, for: object, column)
        try transaction.releasePartners(of: target, column.reference.name, except: object)
    }

    /// Adds a link of a many-to-many relationship, or gives an existing link the given positions. Returns whether the
    /// store changed; nil if the linked object is missing.
    private func add(
        _ link: RowLink, to object: RecordKey, _ column: RelatedColumn
    ) throws -> Bool? {
        guard let join = column.join else { return false }
        guard try transaction.record(link.object, { _ in }) else { return nil }
        let empty = RecordBuilder.empty
        let linkEntity = transaction.model.entities[join.entity]
        let ends = [column.reference.slot: object.reference, join.far.slot: link.object.reference]
        var positions: [Int: Value] = [:]
        if let given = link.position { positions[column.reference.position] = .data(Data(given)) }
        if let given = link.otherPosition { positions[join.far.position] = .data(Data(given)) }
        let bare = try linkEntity.record(empty.span.bytes, setting: ends)
        if let known = try transaction.join(like: bare.span.bytes, of: join.entity) {
            guard !positions.isEmpty, let old = try transaction.copy(of: known) else { return false }
            let record = try linkEntity.record(old.span.bytes, setting: positions)
            return try transaction.update(known, record.span.bytes)
        }
        // In an ordered relationship, a new link without a given position becomes the last one.
        if column.isOrderedHere, link.position == nil {
            positions[column.reference.position] = try lastPosition(column.reference, of: object)
        }
        if column.isOrdered, link.otherPosition == nil {
            positions[join.far.position] = try lastPosition(join.far, of: link.object)
        }
        let record = try linkEntity.record(bare.span.bytes, setting: positions)
        try transaction.insert(join.entity, record.span.bytes)
        return true
    }

    /// Makes the links whose objects exist by now. First releases the old links of one-to-one relationships, so that
    /// two objects may exchange their related objects. `changed` gets each link that changed the store. Returns the
    /// index and the error of each link that still can't be made. O(log n) for each link.
    func settle(
        _ missing: [MissingLink], changed: (MissingLink) -> Void
    ) throws -> [(index: Int, reason: StoreError)] {
        for link in missing where link.column.kind == .one && link.column.reference.isUnique {
            if let old = try transaction.copy(of: link.holder) {
                let new = try record(old, with: link)
                try transaction.releaseLinks(of: link.holder, old.span.bytes, for: new.span.bytes)
            }
        }
        var left: [(index: Int, reason: StoreError)] = []
        for (index, link) in missing.enumerated() {
            do {
                if try settle(link) { changed(link) }
            } catch let error as StoreError where error.isOfValues {
                left.append((index, error))
            }
        }
        for (index, _) in left { try takeBack(missing[index]) }
        return left
    }

    /// Restores the old link of an object whose new link couldn't be made. If another object is linked to the old
    /// target by now, sets the object's reference to null.
    private func takeBack(_ missing: MissingLink) throws {
        let reference = missing.column.reference
        guard missing.column.kind == .one, reference.isUnique, let old = try transaction.copy(of: missing.holder) else {
            return
        }
        let entity = entity
        let view = try RecordView(old.span.bytes, of: entity)
        guard let target = try view.integer(at: reference.slot) else { return }
        let holders = try transaction.holders(of: reference.name, to: RecordKey(reference: target))
        if holders.contains(missing.holder) { return }
        if holders.isEmpty { return try transaction.restoreLinks(of: missing.holder) }
        let record = try entity.record(
            old.span.bytes, setting: [reference.slot: .null, reference.position: .null])
        try transaction.update(missing.holder, record.span.bytes)
    }

    /// Makes a link, and returns whether that changed the store. Throws `invalidValue` if the linked object is missing,
    /// and `notUnique` if another object holds the only link to it.
    private func settle(_ missing: MissingLink) throws -> Bool {
        if missing.column.kind == .list {
            if let isChanged = try add(missing.link, to: missing.holder, missing.column) {
                return isChanged
            }
        } else if try transaction.record(missing.link.object, { _ in }) {
            if missing.column.isMutual { try release(missing.link.object, for: missing.holder, missing.column) }
            guard let old = try transaction.copy(of: missing.holder) else { return false }
            let record = try record(old, with: missing)
            return try transaction.update(missing.holder, record.span.bytes)
        }
        throw StoreError.invalidValue(
            entity: entity.name, attribute: missing.column.relationship,
            "refers to \(name(of: missing.link.object)), which is not in the store")
    }

    private func record(_ old: [UInt8], with missing: MissingLink) throws -> [UInt8] {
        let reference = missing.column.reference
        return try entity.record(
            old.span.bytes,
            setting: [
                reference.slot: missing.link.object.reference,
                reference.position: try position(of: missing.link, missing.column, nil),
            ])
    }
}
