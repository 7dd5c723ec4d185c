internal import FetchIndexOrderCaches
package import FetchIndexModels
internal import FetchIndexRecords
package import FetchIndexEssentials

/// The rows of an entity in one state of the store, in the form of an export file: values, and related objects by their
/// numbers. The file can be imported again.
///
/// For `export`. Users read rows with ``FetchedOrder/forEachRow(from:limit:_:)``, and related objects with a context.
package struct EntityExport {
    /// An exported relationship. Only one of a relationship and its inverse is exported.
    package struct Relationship {
        package let name: String
        /// The number of the destination entity. Related objects may be of its subentities.
        package let destination: Int
        fileprivate let source: LinkSource
    }

    fileprivate enum LinkSource {
        /// The slots of a to-one relationship.
        case reference(slot: Int, position: Int)
        /// A many-to-many relationship: the references of its join records to the row's object (`near`) and to the
        /// related object (`far`), and the join entity.
        case list(near: EntityLinks.Reference, far: EntityLinks.Reference, entity: Int)
    }

    package let entity: Entity
    package let relationships: [Relationship]
    /// The store that the file names as the giver of its object numbers: the store that this store was filled from or
    /// is a copy of, until this store allocates numbers itself; afterwards this store. It's the same for all entities,
    /// because the file of an entity names objects of other entities. Nil if no relationship involves the entity, or if
    /// the store has no identifier.
    package let numbersOrigin: UUID?
    private let container: PersistentContainer
    private let snapshot: Snapshot

    fileprivate init(of name: String, in container: PersistentContainer) throws {
        snapshot = try container.store.snapshot()
        self.container = container
        let model = snapshot.model
        let entity = model.entities[try model.number(of: name)]
        self.entity = entity
        var relationships: [Relationship] = []
        for relationship in entity.storedRelationships where !relationship.isRemoved {
            guard let source = LinkSource(relationship.storage, in: model) else { continue }
            let description = relationship.description
            relationships.append(
                Relationship(
                    name: description.name, destination: try model.number(of: description.destination), source: source))
        }
        self.relationships = relationships
        numbersOrigin = entity.links == nil ? nil : try Self.origin(of: snapshot)
    }

    private static func origin(of snapshot: Snapshot) throws -> UUID? {
        guard let own = snapshot.store.identifier else { return nil }
        let givers = try [snapshot.numbersOrigin()].compactMap { $0 } + snapshot.originals()
        return try givers.first { try snapshot.followsWholly($0) }?.store ?? own
    }

    /// Whether objects are exported with their numbers, because a relationship involves the entity.
    package var hasNumbers: Bool { entity.links != nil }

    /// The stored model. `Relationship.destination`, and the record keys of linked objects, contain its entity numbers.
    package var model: Model { snapshot.model }

    /// Calls the body with each row that a definition of the entity matches, and the row's links by relationship. Rows
    /// are in the order of entities and object numbers, or sorted if the definition has sort keys. First compares all
    /// records of the entities with their checksums. If `skippingDamaged`, leaves out damaged records and returns their
    /// ids; otherwise throws an error that names the first damaged record. O(n), or O(n log n) if rows are sorted; also
    /// O(log n) for each row, and for each of its links of a many-to-many relationship. Sorted rows are first collected
    /// in memory. Throws `StoreError`, and rethrows the body's errors.
    package func forEachRow(
        of definition: OrderDefinition, skippingDamaged: Bool = false,
        _ body: (FetchedRow, _ links: [[RowLink]]) throws -> Void
    ) throws -> [ObjectID] {
        try withPublicErrors {
            var (request, selection) = try definition.plan(in: snapshot)
            let entities = request.builder.entities
            var sound: [RecordKey]? = skippingDamaged ? [] : nil
            let damaged = try entities.flatMap { try snapshot.damagedRecords(of: $0, sound: &sound) }
            if let first = damaged.first {
                let others = damaged.count == 1 ? "" : "; other damaged records: \(damaged.count - 1)"
                guard let sound else {
                    throw StoreError.corrupted(
                        "the record of \(definition.entity) \(first.number) does not match its checksum\(others)")
                }
                selection = .objects(sound)
            }
            var row = 0
            let order = definition.sortKeys.isEmpty ? WalkOrder.byNumber : .byRow(most: .max)
            try request.builder.walkMembers(of: snapshot, from: selection, order) { object in
                try withRow(object, number: row, body)
                row += 1
                return true
            }
            return damaged.map { container.id(of: $0, in: snapshot.model) }
        }
    }

    private func withRow(
        _ object: RecordKey, number: Int, _ body: (FetchedRow, _ links: [[RowLink]]) throws -> Void
    ) throws {
        let entity = snapshot.model.entities[object.entity]
        _ = try snapshot.record(object) { record in
            let view = try RecordView(record, of: entity)
            let links = try relationships.map { try self.links($0.source, of: object, view) }
            let row = FetchedRow(
                id: container.id(of: object, in: snapshot.model), path: RowPath(section: 0, row: number),
                entity: entity,
                slots: entity.attributeSlots, record: view, bytes: record, snapshot)
            try body(row, links)
        }
    }

    private func links(
        _ source: LinkSource, of object: RecordKey, _ record: borrowing RecordView
    ) throws -> [RowLink] {
        switch source {
        case .reference(let slot, let position):
            guard let target = try record.integer(at: slot) else { return [] }
            let key = RecordKey(reference: target)
            return [RowLink(key, position: try Self.bytes(record, position))]
        case .list(let near, let far, let number):
            let entity = snapshot.model.entities[number]
            return try snapshot.holders(of: near.name, to: object).compactMap { holder in
                var link: RowLink?
                _ = try snapshot.record(holder) { record in
                    let view = try RecordView(record, of: entity)
                    guard let target = try view.integer(at: far.slot) else { return }
                    link = RowLink(
                        RecordKey(reference: target), position: try Self.bytes(view, near.position),
                        otherPosition: try Self.bytes(view, far.position))
                }
                return link
            }
        }
    }

    private static func bytes(_ record: borrowing RecordView, _ slot: Int) throws -> [UInt8]? {
        guard case .data(let bytes) = try record.value(at: slot, as: .data) else { return nil }
        return Array(bytes)
    }
}

extension EntityExport.LinkSource {
    /// Returns nil for the side of a relationship that isn't exported.
    fileprivate init?(_ storage: StoredRelationship.Storage, in model: Model) {
        switch storage {
        case .inverse: return nil
        case .reference(let slot, let position): self = .reference(slot: slot, position: position)
        case .join(let join, let side):
            guard side == 0, let references = model.entities[join].links?.references,
                let near = references.first(where: { $0.slot == side }),
                let far = references.first(where: { $0.slot != side })
            else { return nil }
            self = .list(near: near, far: far, entity: join)
        }
    }
}

extension PersistentContainer {
    /// The export of an entity's rows in the newest state. Throws `StoreError`.
    package func export(ofEntity name: String) throws -> EntityExport {
        try withPublicErrors { try EntityExport(of: name, in: self) }
    }
}
