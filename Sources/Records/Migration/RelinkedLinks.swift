internal import FetchIndexModels
internal import FetchIndexValues

/// The links of a relationship that a migration reads before it removes the relationship, and writes as links of the one
/// that replaces it.
struct RelinkedLinks {
    /// Two related objects, and the place of each among the objects to which the other one is related: bytes that sort, or
    /// null.
    private struct Link {
        let near: RecordKey
        let far: RecordKey
        let placeOfFar: Value
        let placeOfNear: Value

        var turned: Link { Link(near: far, far: near, placeOfFar: placeOfNear, placeOfNear: placeOfFar) }
    }

    private let relationship: RelinkedRelationship
    private var links: [Link] = []

    /// Reads the links. O(n) for the objects that hold them.
    init(of relationship: RelinkedRelationship, in writer: StoreWriter) throws {
        self.relationship = relationship
        let side = relationship.stored
        switch writer.model.entities[side.entity].relationship(named: side.name)?.storage {
        case .reference:
            try readReferences(of: side, in: writer) { holder, target, place in
                Link(near: holder, far: target, placeOfFar: .null, placeOfNear: place)
            }
        case .inverse:
            guard let inverse = relationship.inverse else { return }
            try readReferences(of: inverse, in: writer) { holder, target, place in
                Link(near: target, far: holder, placeOfFar: place, placeOfNear: .null)
            }
        case .join(let join, let near): try readJoin(join, near: near, in: writer)
        case nil: break
        }
    }

    private mutating func readReferences(
        of side: RelinkedRelationship.Side, in writer: StoreWriter,
        _ link: (_ holder: RecordKey, _ target: RecordKey, _ place: Value) -> Link
    ) throws {
        for number in writer.model.hierarchy(of: side.entity) {
            let entity = writer.model.entities[number]
            guard case .reference(let slot, let position)? = entity.relationship(named: side.name)?.storage else {
                continue
            }
            try writer.scan(number) { holder, record in
                let view = try RecordView(record, of: entity)
                guard let target = try view.key(at: slot) else { return true }
                links.append(link(holder, target, try view.value(at: position, as: .data)))
                return true
            }
        }
    }

    private mutating func readJoin(_ join: Int, near: Int, in writer: StoreWriter) throws {
        let entity = writer.model.entities[join]
        let references = writer.references(of: join)
        guard let near = references.first(where: { $0.slot == near }),
            let far = references.first(where: { $0.slot != near.slot })
        else { return }
        try writer.scan(join) { _, record in
            let view = try RecordView(record, of: entity)
            guard let nearKey = try view.key(at: near.slot), let farKey = try view.key(at: far.slot) else {
                return true
            }
            links.append(
                Link(
                    near: nearKey, far: farKey, placeOfFar: try view.value(at: near.position, as: .data),
                    placeOfNear: try view.value(at: far.position, as: .data)))
            return true
        }
        if near.isSymmetric { takePlacesOfTurnedLinks() }
    }

    /// In a relationship that is its own inverse, only the turned link has an object's present place among the other's
    /// objects.
    private mutating func takePlacesOfTurnedLinks() {
        let places = Dictionary(links.map { ([$0.near, $0.far], $0.placeOfFar) }) { first, _ in first }
        links = links.map { link in
            Link(
                near: link.near, far: link.far, placeOfFar: link.placeOfFar,
                placeOfNear: places[[link.far, link.near]] ?? .null)
        }
    }

    /// Writes the links whose objects the new relationship may relate. Throws `cannotMigrate` if an object would be
    /// related to several objects instead of one. O(links x log n).
    func write(in writer: StoreWriter) throws {
        var obstacles: [(object: RecordKey, relationship: String)] = []
        var joins: [Int: RecordBatch] = [:]
        let model = writer.model
        for link in isOwnInverse(in: model) ? linksBothWays : links {
            let near = model.entities[link.near.entity]
            guard let new = near.relationship(named: relationship.name),
                let destination = try? model.number(of: new.description.destination),
                model.hierarchy(of: destination).contains(link.far.entity)
            else { continue }
            switch new.storage {
            case .reference(let slot, let position):
                let values = [slot: link.far.reference, position: link.placeOfNear]
                if try !set(values, slot, of: link.near, in: writer) {
                    obstacles.append((link.near, relationship.name))
                }
            case .inverse:
                let other = model.entities[link.far.entity].relationship(named: new.description.inverse)
                guard case .reference(let slot, let position)? = other?.storage else { continue }
                let values = [slot: link.near.reference, position: link.placeOfFar]
                if try !set(values, slot, of: link.far, in: writer) {
                    obstacles.append((link.far, new.description.inverse ?? relationship.name))
                }
            case .join(let join, let side):
                guard let record = try Self.join(join, near: side, link, in: writer) else { continue }
                joins[join, default: RecordBatch()].append(record.span.bytes)
            }
            if obstacles.count == MigrationPass.namedObjects { break }
        }
        if let first = obstacles.first {
            let same = obstacles.filter { $0.relationship == first.relationship }
            throw StoreError.cannotMigrate(
                entity: model.entities[first.object.entity].name, attribute: first.relationship,
                "leads to one object, but has several", objects: same.map { id($0.object, in: writer) })
        }
        for (join, batch) in joins { try writer.write(join, batch, .insert) { _, _ in } }
    }

    /// The record of a join object that links two objects.
    private static func join(_ join: Int, near side: Int, _ link: Link, in writer: StoreWriter) throws -> [UInt8]? {
        let references = writer.references(of: join)
        guard let near = references.first(where: { $0.slot == side }),
            let far = references.first(where: { $0.slot != side })
        else { return nil }
        let values = [
            near.slot: link.near.reference, far.slot: link.far.reference, near.position: link.placeOfFar,
            far.position: link.placeOfNear,
        ]
        let empty = RecordBuilder.empty
        return try writer.model.entities[join].record(empty.span.bytes, setting: values)
    }

    private func isOwnInverse(in model: Model) -> Bool {
        let new = model.entity(named: relationship.entity)?.relationship(named: relationship.name)
        return new.map { model.isOwnInverse($0.description) } ?? false
    }

    /// The links and their turned links, each once.
    private var linksBothWays: [Link] {
        var known: Set<[RecordKey]> = []
        return (links + links.map(\.turned)).filter { known.insert([$0.near, $0.far]).inserted }
    }

    /// Returns false if the object is related to another object already.
    private func set(_ values: [Int: Value], _ slot: Int, of object: RecordKey, in writer: StoreWriter) throws -> Bool {
        guard let old = try writer.copy(of: object) else { return true }
        let entity = writer.model.entities[object.entity]
        let view = try RecordView(old.span.bytes, of: entity)
        if try view.key(at: slot) != nil { return false }
        let record = try entity.record(old.span.bytes, setting: values)
        do { try writer.update(object, record.span.bytes) } catch let error as StoreError {
            throw migrationError(error, of: object, in: writer)
        }
        return true
    }

    private func migrationError(_ error: StoreError, of object: RecordKey, in writer: StoreWriter) -> StoreError {
        guard case .notUnique(let entity, let attribute, let value) = error else { return error }
        return .cannotMigrate(
            entity: entity, attribute: attribute,
            "leads to \(value), to which another object leads, although both may have only one",
            objects: [id(object, in: writer)])
    }

    private func id(_ object: RecordKey, in writer: StoreWriter) -> ObjectID {
        ObjectID(object, writer.store.origin(ofEntity: object.entity, named: writer.model.entities[object.entity].name))
    }
}
