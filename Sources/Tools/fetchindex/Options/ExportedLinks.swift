internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexPlatform

/// The related objects of an entity's objects, as `export` writes them: each relationship with one of its two sides.
struct ExportedLinks {
    private enum Source {
        /// The slots of a to-one relationship, and the entity that it leads to.
        case reference(slot: Int, position: Int, destination: Int)
        /// The links of a many-to-many relationship: their references to the object and to the other ones.
        case list(near: EntityLinks.Reference, far: EntityLinks.Reference, entity: Int, destination: Int)
    }

    let names: [String]
    /// Whether objects are written with their numbers, because others may be related to them.
    let hasIDs: Bool
    /// Whose numbers these are; nil without numbers, and in a store without an identifier.
    let store: Value?
    private let sources: [Source]
    private let snapshot: Snapshot

    init(of entity: Entity, in snapshot: Snapshot) throws {
        let model = snapshot.model
        self.snapshot = snapshot
        hasIDs = entity.links != nil
        var sources: [(name: String, Source)] = []
        for relationship in entity.storedRelationships where !relationship.isRemoved {
            let name = relationship.description.name
            let destination = try model.number(of: relationship.description.destination)
            switch relationship.storage {
            case .inverse: break
            case .reference(let slot, let position):
                sources.append((name, .reference(slot: slot, position: position, destination: destination)))
            case .join(let join, let side):
                guard side == 0, let references = model.entities[join].links?.references,
                    let near = references.first(where: { $0.slot == side }),
                    let far = references.first(where: { $0.slot != side })
                else { break }
                sources.append((name, .list(near: near, far: far, entity: join, destination: destination)))
            }
        }
        names = sources.map(\.name)
        store = try hasIDs ? Self.store(of: snapshot) : nil
        self.sources = sources.map(\.1)
    }

    /// The store that gave the numbers of all objects that are exported with them: the one that this store was filled from or is a copy of,
    /// until this one has objects of its own. Files of several entities name each other's objects, so it is one for all.
    private static func store(of snapshot: Snapshot) throws -> Value? {
        guard let own = snapshot.store.identifier else { return nil }
        let givers = try [snapshot.numbersOrigin()].compactMap { $0 } + snapshot.originals()
        let giver = try givers.first { try snapshot.followsWholly($0) }
        return .string((giver?.store ?? own).uuidString)
    }

    /// O(log n + links).
    func values(of object: RecordKey, _ record: borrowing RecordView) throws -> [Value] {
        var values: [Value] = []
        for source in sources {
            switch source {
            case .reference(let slot, let position, let destination):
                guard let target = try record.integer(at: slot) else {
                    values.append(.null)
                    continue
                }
                let link = RowLink(
                    RecordKey(rawValue: UInt64(bitPattern: target)), position: try Self.bytes(record, position))
                values.append(.string(link.catalogueText(in: destination, snapshot.model)))
            case .list(let near, let far, let entity, let destination):
                let links = try links(of: object, near, far, entity)
                let texts = links.map { $0.catalogueText(in: destination, snapshot.model) }
                values.append(texts.isEmpty ? .null : .string(texts.joined(separator: " ")))
            }
        }
        return values
    }

    private func links(
        of object: RecordKey, _ near: EntityLinks.Reference, _ far: EntityLinks.Reference, _ number: Int
    ) throws -> [RowLink] {
        let entity = snapshot.model.entities[number]
        return try snapshot.holders(of: near.name, to: object).compactMap { holder in
            var link: RowLink?
            _ = try snapshot.record(holder) { record in
                let view = try RecordView(record, of: entity)
                guard let target = try view.integer(at: far.slot) else { return }
                link = RowLink(
                    RecordKey(rawValue: UInt64(bitPattern: target)), position: try Self.bytes(view, near.position),
                    otherPosition: try Self.bytes(view, far.position))
            }
            return link
        }
    }

    private static func bytes(_ record: borrowing RecordView, _ slot: Int) throws -> [UInt8]? {
        guard case .data(let bytes) = try record.value(at: slot, as: .data) else { return nil }
        return Array(bytes)
    }
}
