package import FetchIndexModels
internal import FetchIndexValues

/// Links of relationships that are their own inverses. Each link is stored twice, from either object to the other one: in
/// the records of the two objects, or in two records of a join entity. So they are read like other relationships' links.
extension StoreWriter {
    /// A link of a relationship that is its own inverse, seen from one of its objects.
    struct SymmetricLink: Equatable {
        let name: EntityLinks.Name
        /// The join entity; nil for a to-one relationship.
        let join: Int?
        let near: RecordKey
        let far: RecordKey

        var turned: SymmetricLink { SymmetricLink(name: name, join: join, near: far, far: near) }
    }

    /// Notes the links that a record gains, and those that only its old record has.
    func noteSymmetricLinks(of object: RecordKey, _ record: RawSpan, replacing old: RawSpan? = nil) throws {
        for reference in references(of: object.entity) where reference.isSymmetric {
            let link = try symmetricLink(reference, of: object, record)
            var former: SymmetricLink?
            if let old { former = try symmetricLink(reference, of: object, old) }
            if link != former { symmetricLinks += [former, link].compactMap { $0 } }
        }
    }

    private func symmetricLink(
        _ reference: EntityLinks.Reference, of object: RecordKey, _ record: RawSpan
    ) throws -> SymmetricLink? {
        let entity = model.entities[object.entity]
        let view = try RecordView(record, of: entity)
        guard let target = try view.key(at: reference.slot) else { return nil }
        guard let other = reference.other else {
            return SymmetricLink(name: reference.name, join: nil, near: object, far: target)
        }
        guard let far = try view.key(at: other) else { return nil }
        return SymmetricLink(name: reference.name, join: object.entity, near: target, far: far)
    }

    /// Gives the turned link to each link that this transaction has made, and takes it from each link that it has removed.
    /// Returns whether any record changed. Throws like `update`, for example `invalidValue` if a required relationship would
    /// become nil. O(log n) for each link; if the links have positions, each is also searched among those of its objects, see
    /// `join(of:between:and:)`.
    @discardableResult
    package func completeSymmetricLinks() throws -> Bool {
        var hasChanged = false
        while !symmetricLinks.isEmpty {
            let links = symmetricLinks
            symmetricLinks = []
            for link in links where try !isComplete(link) {
                if try has(link) ? turn(link) : remove(link.turned) { hasChanged = true }
            }
        }
        return hasChanged
    }

    /// Whether both or none of the two objects have the link.
    func isComplete(_ link: SymmetricLink) throws -> Bool {
        try link.near == link.far || has(link) == has(link.turned)
    }

    private func has(_ link: SymmetricLink) throws -> Bool {
        if let join = link.join {
            return try self.join(of: references(of: join), between: link.near, and: link.far) != nil
        }
        guard let reference = reference(of: link), let record = try copy(of: link.near) else { return false }
        let entity = model.entities[link.near.entity]
        let view = try RecordView(record.span.bytes, of: entity)
        return try view.key(at: reference.slot) == link.far
    }

    private func reference(of link: SymmetricLink) -> EntityLinks.Reference? {
        references(of: link.near.entity).first { $0.name == link.name }
    }

    /// Makes the turned link of a link. The positions of the two objects among each other's objects change places.
    private func turn(_ link: SymmetricLink) throws -> Bool {
        let turned = link.turned
        guard let join = link.join else {
            // In one commit, several objects may have come to refer to the same one.
            try releasePartners(of: turned.far, link.name, except: turned.near)
            return try set(turned, to: turned.far.reference)
        }
        let references = references(of: join)
        guard let known = try self.join(of: references, between: link.near, and: link.far),
            let old = try copy(of: known)
        else { return false }
        let (near, far) = (references[0], references[1])
        let entity = model.entities[join]
        let view = try RecordView(old.span.bytes, of: entity)
        let values: [Int: Value] = [
            near.slot: turned.near.reference, far.slot: turned.far.reference,
            near.position: try view.value(at: far.position, as: .data),
            far.position: try view.value(at: near.position, as: .data),
        ]
        let empty = RecordBuilder.empty
        let record = try entity.record(empty.span.bytes, setting: values)
        try insert(join, record.span.bytes)
        return true
    }

    private func remove(_ link: SymmetricLink) throws -> Bool {
        guard let join = link.join else { return try set(link, to: .null) }
        guard let known = try self.join(of: references(of: join), between: link.near, and: link.far) else {
            return false
        }
        return try remove(known) != nil
    }

    /// Takes the links of a to-one relationship that is its own inverse from the objects that refer to an object, except one.
    /// Returns these objects. O(log n).
    @discardableResult
    package func releasePartners(
        of target: RecordKey, _ name: EntityLinks.Name, except object: RecordKey?
    ) throws -> [RecordKey] {
        let released = try holders(of: name, to: target).filter { $0 != object }
        for holder in released {
            _ = try set(SymmetricLink(name: name, join: nil, near: holder, far: target), to: .null)
        }
        return released
    }

    /// Gives back the links that `releasePartners` has taken. O(log n).
    package func restorePartners(_ released: [RecordKey], of target: RecordKey, _ name: EntityLinks.Name) throws {
        for holder in released {
            _ = try set(SymmetricLink(name: name, join: nil, near: holder, far: target), to: target.reference)
        }
    }

    private func set(_ link: SymmetricLink, to target: Value) throws -> Bool {
        guard let reference = reference(of: link), let old = try copy(of: link.near) else { return false }
        let record = try model.entities[link.near.entity].record(
            old.span.bytes, setting: [reference.slot: target, reference.position: .null])
        return try update(link.near, record.span.bytes)
    }
}
