internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexValues

extension StoreWriter {
    /// Applies a migration. Relationships whose links are stored anew, and dropped entities, make commits of their own,
    /// which are sealed, except the last one. Throws like `apply`, and `cannotMigrate` if a relationship that leads to one
    /// object would have several; after an error, release the writer. The links that are stored anew are held in memory.
    func migrate(_ plan: ModelMigration, _ migration: Migration, author: String) throws {
        let difference = try plan.difference { try entityState($0).count > 0 }
        for step in difference.steps { try require(step, migration) }
        func endCommit() throws {
            try seal()
            try beginNextCommit(author: author)
        }
        if plan.renamesEntities { try setModel(plan.renamed) }
        let links = try plan.relinked.filter(\.keepsLinks).map { try RelinkedLinks(of: $0, in: self) }
        var automatic = migration
        automatic.convert = nil
        try apply(plan.removals, automatic)
        for number in plan.dropped {
            try dropEntity(number)
            try endCommit()
        }
        try apply(plan.changes, migration)
        if let requests = plan.requests {
            var model = model
            model.requests = requests
            try setModel(model)
        }
        if links.isEmpty && plan.rules.isEmpty { return }
        try endCommit()
        for links in links { try links.write(in: self) }
        if plan.rules.isEmpty { return }
        try endCommit()
        try apply(plan.rules, automatic)
    }

    /// Applies migrations: rewrites records, unique keys and links where needed, and stores the new model. If a
    /// migration needs a pass over records, the transaction counts as a commit, but its log doesn't have the records
    /// that the pass rewrote. Throws `StoreError.cannotMigrate` for values that prevent it; after an error, release the
    /// writer. O(n log n) if there is a pass, if unique constraints of an entity hierarchy change, or if a relationship
    /// moves to a superentity; O(links x log n) for relationships that are removed or become one-to-one; otherwise
    /// independent of the number of objects.
    private func apply(_ migrations: [EntityMigration], _ migration: Migration) throws {
        if migrations.isEmpty { return }
        let applied = try model.applying(migrations)
        let prepared = applied.prepared
        let passes = migrations.filter(\.needsPass)
        let total = try passes.reduce(0) { try $0 + Int(clamping: entityState($1.number ?? 0).count) }
        var done = 0
        for pass in passes {
            guard let number = pass.number else { continue }
            var pass = MigrationPass(pass, number, to: prepared, in: self, migration.convert)
            try pass.run {
                done += 1
                if done % 4096 == 0 { migration.progress(done, total) }
            }
        }
        try renewSharedKeys(from: model, to: prepared)
        try requireUniqueLinks(from: model, to: prepared)
        let changed = try deleteLinks(goneFrom: model, in: prepared, applied)
        if !passes.isEmpty { commitsWithoutChanges = true }
        if passes.contains(where: \.rewritesRecords) { rewritesRecords = true }
        migration.progress(total, total)
        let old = model
        try setModel(changed)
        if hasLinks { try renewLinks(from: old) }
        for pass in passes where pass.rewritesRecords {
            if let entity = pass.number { try renewZones(of: entity, all: true) }
        }
    }

    /// Rewrites the unique keys of each entity hierarchy in which a unique constraint changed, because keys contain the
    /// number of the entity that declares the constraint. O(n log n) for the objects of these hierarchies.
    private func renewSharedKeys(from old: Model, to new: Model) throws {
        for number in new.entities.indices where new.superentities(of: number).isEmpty {
            let family = new.hierarchy(of: number)
            guard family.count > 1 else { continue }
            // A new entity has no unique keys yet.
            let isChanged = family.contains { entity in
                old.entities.indices.contains(entity)
                    && old.entities[entity].uniqueConstraints != new.entities[entity].uniqueConstraints
            }
            if !isChanged { continue }
            for entity in family { try deleteUniqueKeys(beginningWith: StoreLayout.uniqueKeyPrefix(of: entity)) }
            for entity in family {
                var keys = SharedKeys(of: new.entities[entity], in: self)
                try scan(entity) { object, record in
                    // The record is copied, because it's valid only until the next write.
                    try keys.add([UInt8](copying: record), of: object, naming: new)
                    return true
                }
                try keys.finish()
            }
        }
    }

    func deleteUniqueKeys(beginningWith prefix: [UInt8]) throws {
        try view.withCursor(on: tables.unique) { cursor in
            var isAtKey = try cursor.seek(toKeyFrom: prefix.span.bytes)
            while isAtKey, cursor.key.byteCount >= prefix.count,
                cursor.key.extracting(first: prefix.count).isEqual(to: prefix.span.bytes)
            {
                try cursor.deleteCurrent()
                isAtKey = try cursor.seekToNext()
            }
        }
    }

    private func require(_ step: ModelDifference.Step, _ migration: Migration) throws {
        switch step.verdict {
        case .free: break
        case .pass where migration.allowsPasses || migration.convert != nil: break
        case .pass:
            throw StoreError.modelMismatch(
                entity: step.entity,
                "to \(step.change), \(step.reason): that needs `migration: .automatic`")
        case .decision where migration.convert != nil: break
        case .decision:
            throw StoreError.modelMismatch(entity: step.entity, "to \(step.change): \(step.reason)")
        }
    }
}

/// A pass over the records of an entity: converts values, checks required values and changes unique keys.
struct MigrationPass {
    /// The maximum number of objects that an error message names.
    static let namedObjects = 5

    private let entity: Int
    private let old: Entity
    private let new: Entity
    private let writer: StoreWriter
    private let convert: Migration.Convert?
    private let sources: [Int: Int]
    private let required: [Int: Value]
    private let rewrites: Bool
    /// The attributes for which the closure may return values.
    private let decidable: Set<String>
    private let addedConstraints: [UniqueConstraint]
    private let removedConstraints: [UniqueConstraint]
    private var builder = RecordBuilder()
    private var obstacle: (attribute: String, reason: String)?
    private var objects: [ObjectID] = []

    init(
        _ migration: EntityMigration, _ entity: Int, to model: Model, in writer: StoreWriter,
        _ convert: Migration.Convert?
    ) {
        self.entity = entity
        new = model.entities[entity]
        let isInHierarchy = model.family(of: entity).count > 1
        rewrites = migration.rewritesRecords
        old = writer.model.entities[entity]
        self.writer = writer
        self.convert = convert
        sources = Dictionary(uniqueKeysWithValues: migration.conversions.map { ($0.to, $0.from) })
        required = Dictionary(migration.required.map { ($0.slot, $0.replacement) }) { _, last in last }
        let added = new.attributeSlots.filter { $0 >= migration.old.slots.count }
        decidable = Set(added.map { migration.new.attribute(at: $0).name })
        // In a hierarchy, `renewSharedKeys` changes the unique keys.
        let (before, after) = isInHierarchy ? ([], []) : (old.uniqueConstraints, new.uniqueConstraints)
        addedConstraints = after.filter { !before.contains($0) }
        removedConstraints = before.filter { !after.contains($0) }
    }

    mutating func run(_ progress: () -> Void) throws {
        for constraint in removedConstraints {
            try writer.deleteUniqueKeys(beginningWith: StoreLayout.uniqueKey(entity: entity, constraint))
        }
        // For example, if the migration only removes constraints, records needn't be read.
        if !rewrites && required.isEmpty && addedConstraints.isEmpty { return }
        try writer.view.withCursor(on: writer.tables.records) { cursor in
            var isAtRecord = try cursor.seek(toKeyFrom: RecordKey(entity: entity, number: 0).rawValue)
            while isAtRecord {
                let object = RecordKey(rawValue: cursor.integerKey)
                guard object.entity == entity else { break }
                try writer.verify(cursor.value, of: object)
                if rewrites {
                    let bytes = [UInt8](copying: cursor.value)
                    let record = try record(from: bytes.span.bytes, object)
                    if record != bytes { try cursor.put(record.span.bytes, for: object.rawValue) }
                    try addKeys(object, record.span.bytes)
                } else {
                    try check(cursor.value, object)
                    let record = addedConstraints.isEmpty ? [] : [UInt8](copying: cursor.value)
                    try addKeys(object, record.span.bytes)
                }
                progress()
                isAtRecord = try cursor.seekToNext()
            }
        }
        if let obstacle {
            throw StoreError.cannotMigrate(
                entity: new.name, attribute: obstacle.attribute, obstacle.reason, objects: objects)
        }
    }

    private mutating func note(_ object: RecordKey, _ attribute: String, _ reason: String) {
        if obstacle == nil { obstacle = (attribute, reason) }
        guard let obstacle, obstacle == (attribute, reason), objects.count < Self.namedObjects else { return }
        objects.append(ObjectID(object, writer.store.origin(ofEntity: object.entity, named: new.name)))
    }

    private mutating func check(_ record: RawSpan, _ object: RecordKey) throws {
        let new = new
        let view = try RecordView(record, of: new)
        for slot in required.keys.sorted() where try view.range(of: slot) == nil { noteNull(slot, object) }
    }

    private mutating func noteNull(_ slot: Int, _ object: RecordKey) {
        note(object, new.attribute(at: slot).name, "is required, and is null")
    }

    private mutating func record(from bytes: RawSpan, _ object: RecordKey) throws -> [UInt8] {
        let (old, new) = (old, new)
        let view = try RecordView(bytes, of: old)
        let decided = try convert.map { try $0(new.name, values(of: view)) } ?? [:]
        for name in decided.keys where !decidable.contains(name) {
            _ = try new.requireSlot(of: name)
            throw StoreError.invalidValue(
                entity: new.name, attribute: name, "is returned by the closure, but the migration does not change it")
        }
        builder.begin()
        for (slot, description) in new.slots.enumerated() {
            let attribute = description.attribute
            if description.isRemoved {
                builder.appendNull()
            } else if let value = decided[attribute.name] {
                try new.validate(value, of: attribute)
                builder.append(value)
            } else if let source = sources[slot] {
                let value = try view.value(at: source, as: old.attribute(at: source).type)
                let converted = value.converted(to: attribute.type)
                if converted == nil { note(object, attribute.name, "is not \(attribute.type.nameWithArticle)") }
                append(converted ?? .null, slot, object)
            } else if slot < old.slots.count {
                if try required[slot] != nil && view.range(of: slot) == nil { noteNull(slot, object) }
                try builder.append(slot, of: view)
            } else {
                append(attribute.defaultValue, slot, object)
            }
        }
        let record = builder.finish()
        do { return try new.completed(record.span.bytes) ?? record } catch StoreError.invalidValue(
            _, let attribute, let reason)
        {
            note(object, attribute, reason)
            return record
        }
    }

    private mutating func append(_ value: Value, _ slot: Int, _ object: RecordKey) {
        guard value.isNull, let replacement = required[slot] else { return builder.append(value) }
        if replacement.isNull { noteNull(slot, object) }
        builder.append(replacement)
    }

    private func values(of record: RecordView) throws -> [String: Value] {
        var values: [String: Value] = [:]
        for (slot, attribute) in zip(old.attributeSlots, old.attributes) {
            values[attribute.name] = try record.value(at: slot, as: attribute.type)
        }
        return values
    }

    // MARK: Unique keys

    private mutating func addKeys(_ object: RecordKey, _ record: RawSpan) throws {
        for constraint in addedConstraints {
            guard let key = try StoreReader.uniqueKey(entity, new, constraint, record) else { continue }
            let name = new.name(of: constraint)
            guard key.count <= Table.maximumKeyLength else {
                note(
                    object, name,
                    "is too long: its unique key would exceed 511 bytes (a single value of up to 500 bytes without zero bytes always fits)"
                )
                continue
            }
            if let other = try writer.object(unique: key) {
                note(object, name, constraint.conflict(with: "object \(other.number)"))
            } else {
                try writer.putUniqueKey(key, of: object)
            }
        }
    }
}
