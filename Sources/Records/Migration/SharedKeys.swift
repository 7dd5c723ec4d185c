internal import FetchIndexLMDB
internal import FetchIndexModels

/// Writes the unique keys of an entity in a hierarchy. Notes objects whose keys can't be written, because their values
/// are too long or belong to other objects.
struct SharedKeys {
    private let entity: Entity
    private let writer: StoreWriter
    private var obstacle: (attribute: String, reason: String)?
    private var objects: [ObjectID] = []

    init(of entity: Entity, in writer: StoreWriter) { (self.entity, self.writer) = (entity, writer) }

    mutating func add(_ record: [UInt8], of object: RecordKey, naming model: Model) throws {
        for constraint in entity.uniqueConstraints {
            guard let key = try StoreReader.uniqueKey(object.entity, entity, constraint, record.span.bytes) else {
                continue
            }
            let name = entity.name(of: constraint)
            if key.count > Table.maximumKeyLength {
                note(
                    object, name,
                    "is too long: its unique key would exceed 511 bytes (a single value of up to 500 bytes without zero bytes always fits)"
                )
            } else if let other = try writer.object(unique: key) {
                let owner = model.entities[other.entity].name
                note(object, name, constraint.conflict(with: "\(owner) \(other.number)"))
            } else {
                try writer.putUniqueKey(key, of: object)
            }
        }
    }

    private mutating func note(_ object: RecordKey, _ attribute: String, _ reason: String) {
        if obstacle == nil { obstacle = (attribute, reason) }
        guard obstacle?.attribute == attribute, objects.count < MigrationPass.namedObjects else { return }
        objects.append(ObjectID(object, writer.store.origin(ofEntity: object.entity, named: entity.name)))
    }

    func finish() throws {
        guard let obstacle else { return }
        throw StoreError.cannotMigrate(
            entity: entity.name, attribute: obstacle.attribute, obstacle.reason, objects: objects)
    }
}

extension UniqueConstraint {
    /// The reason why an object can't be migrated if another object has the same values.
    func conflict(with other: String) -> String {
        slots.count > 1
            ? "must be unique together, but \(other) has the same values"
            : "must be unique, but \(other) has the same value"
    }
}
