internal import FetchIndex
internal import FetchIndexModels
internal import ArgumentParser
internal import FetchIndexCatalogues
internal import FetchIndexInspection

// The entity that a file is imported into.
extension ImportCommand {
    /// Creates a missing entity with the file's columns or, if it has none, with those of `--types`. A stored entity keeps its
    /// types, unless it has no objects: a failed import may have inferred wrong ones.
    ///
    /// Columns of `--relate` are relationships of a new entity. Columns of a stored entity's relationships, and the
    /// column of object numbers, aren't attributes.
    func prepareEntity(
        _ container: PersistentContainer, columns all: [String], _ relations: [RelateOption],
        given: GivenTypes, rows: () throws -> any RowSource, inferred inferredOfAll: (Set<Int>) throws -> [ValueType]
    ) throws {
        let stored = try container.model().entity(named: entity)
        let taken = try attributeNames(all, stored, given.types(of: []), rows)
        let places = all.indices.filter { isAttribute(all[$0], of: stored, relations, takenNames: taken) }
        let columns = places.map { all[$0] }
        let types = given.types(of: columns)
        /// The types of columns that have none by `--types`, by their names.
        func inferred(_ names: [String]) throws -> [String: ValueType] {
            let asked = places.filter { names.contains(all[$0]) && types[all[$0]] == nil }
            if asked.isEmpty { return [:] }
            let found = try inferredOfAll(Set(asked))
            return Dictionary(asked.map { (all[$0], found[$0]) }) { first, _ in first }
        }
        var attributes: [AttributeDescription] = []
        if let stored {
            try addRelationships(relations, to: stored, container)
            if addColumns { return try addMissing(columns, to: stored, types, inferred: inferred) }
            // In a hierarchy, and with relationships, an entity can't be replaced: others depend on it.
            let model = try container.model()
            let isRelated = model.entities.contains { other in
                other.relationships.contains { other.name == entity || $0.destination == entity }
            }
            let isAlone = try !isRelated && model.hierarchy(of: model.number(of: entity)).count == 1
            let isEmpty = try isAlone && stored.superentity == nil && container.count(ofEntity: entity) == 0
            let differs = try require(columns, among: all, types, of: stored, isEmpty: isEmpty)
            if !differs { return }
            // Another process may have filled it.
            guard try container.dropEmptyEntity(named: entity) else {
                _ = try require(columns, among: all, types, of: stored, isEmpty: false)
                return
            }
            attributes = stored.attributes.map { attribute in
                let type = types[attribute.name] ?? attribute.type
                return AttributeDescription(
                    attribute.name, type, isOptional: attribute.isOptional && attribute.name != key,
                    isUnique: attribute.isUnique || attribute.name == key,
                    defaultValue: type == attribute.type ? attribute.defaultValue : .null,
                    derivation: attribute.derivation)
            }
        }
        let missing = (columns.isEmpty ? given.named.map(\.name) : columns).filter { name in
            !attributes.contains { $0.name == name }
        }
        if !missing.isEmpty {
            let found = try inferred(missing)
            attributes += missing.map { name in
                AttributeDescription(
                    name, types[name] ?? found[name] ?? .string, isOptional: name != key, isUnique: name == key)
            }
        }
        let new = Entity(
            entity, attributes, unique: stored?.uniqueListsOfAttributes ?? [],
            indexes: stored?.indexesOfAttributes ?? [],
            isAbstract: stored?.isAbstract ?? false)
        let made =
            stored == nil
            ? try model(of: container, adding: relations, to: new)
            : Model(entities: [new.adding([], stored?.relationships ?? [])])
        _ = try PersistentContainer(storeAt: store.store, model: made, creates: true)
    }

    private func isAttribute(
        _ column: String, of stored: Entity?, _ relations: [RelateOption], takenNames names: Set<String>
    ) -> Bool {
        if relations.contains(where: { $0.column == column }) { return false }
        if stored?.slot(of: column) != nil { return true }
        if stored?.relationship(named: column) != nil { return false }
        func isTaken(_ name: String) -> Bool { stored?.has(name) ?? false || names.contains(name) }
        return column != RecordKey.numberName(isTaken) && column != RecordKey.storeName(isTaken)
    }

    /// A container's entities, with relationships added to one of them, and their inverses to the others. An inverse is
    /// named like the entity, in the plural: books for Book. If that name is taken, or both entities are the same, the
    /// relationship has no inverse.
    private func model(
        of container: PersistentContainer, adding relations: [RelateOption], to entity: Entity
    ) throws -> Model {
        let stored = try container.model()
        var entities = stored.entities.filter { $0.name != entity.name } + [entity]
        let plural = entity.name.prefix(1).lowercased() + entity.name.dropFirst() + "s"
        for relation in relations {
            func index(_ name: String) throws -> Int {
                guard let index = entities.firstIndex(where: { $0.name == name }) else {
                    throw stored.unknownEntity(name)
                }
                return index
            }
            let other = try index(relation.entity)
            let family = entities.filter {
                $0.name == relation.entity || stored.isSubentity($0, of: relation.entity)
            }
            let isTaken =
                relation.entity == entity.name
                || family.contains { member in
                    member.slot(of: plural) != nil || member.relationships.contains { $0.name == plural }
                }
            let inverse = isTaken ? nil : plural
            let own = try index(entity.name)
            let relationship = RelationshipDescription(relation.column, toOne: relation.entity, inverse: inverse)
            entities[own] = entities[own].adding([], [relationship])
            if let inverse {
                let back = RelationshipDescription(inverse, toMany: entity.name, inverse: relation.column)
                entities[other] = entities[other].adding([], [back])
            }
        }
        // Subentities have what their superentities have.
        return Model(entities: entities)
    }

    /// Makes the entities that `--relate` names and the store lacks, with `--create-related`.
    func prepareRelated(_ relations: [RelateOption], _ container: PersistentContainer) throws {
        // All of them first: what is refused makes nothing.
        for relation in relations { try require(relation, container.model()) }
        for relation in relations where relation.entity != entity {
            if try container.model().entity(named: relation.entity) != nil { continue }
            guard createRelated else {
                guard case .unknownEntity(_, let near) = try container.model().unknownEntity(relation.entity) else {
                    return
                }
                throw Failure(
                    "--relate names \(relation.entity.visible), which is no entity of the store\(near.hint): "
                        + "import it first, or say --create-related")
            }
            let key = AttributeDescription(relation.attribute, .string, isOptional: false, isUnique: true)
            _ = try PersistentContainer(
                storeAt: store.store, model: Model(entities: [Entity(relation.entity, [key])]), creates: true)
        }
    }

    /// Throws when no object can be named as an option has it.
    private func require(_ relation: RelateOption, _ model: Model) throws {
        guard let related = model.entity(named: relation.entity) else {
            if relation.entity != entity || relation.attribute == key { return }
            throw RequestError.wrongType(
                "\(entity).\(relation.attribute) is not unique, so it cannot name objects: it needs to be the --key")
        }
        guard related.uniqueConstraint(ofSlot: try related.requireSlot(of: relation.attribute)) != nil else {
            throw RequestError.wrongType(
                "\(relation.entity).\(relation.attribute) is not unique, so it cannot name objects")
        }
    }

    /// Adds relationships that a stored entity does not have: a free change, with `--add-columns`.
    private func addRelationships(
        _ relations: [RelateOption], to stored: Entity, _ container: PersistentContainer
    ) throws {
        let missing = relations.filter { stored.relationship(named: $0.column) == nil }
        guard let first = missing.first else { return }
        if stored.slot(of: first.column) != nil {
            throw RequestError.wrongType("\(entity).\(first.column) is an attribute, and no relationship")
        }
        guard addColumns else {
            let near = stored.nearName(to: first.column).hint
            throw Failure("\(entity.visible) has no relationship \(first.column.visible)\(near); --add-columns adds it")
        }
        try container.migrate(to: model(of: container, adding: missing, to: stored))
    }

    /// Adds the columns that a stored entity does not have as optional attributes: a free change.
    private func addMissing(
        _ columns: [String], to stored: Entity, _ types: [String: ValueType],
        inferred: ([String]) throws -> [String: ValueType]
    ) throws {
        let (missing, known) = (
            columns.filter { stored.slot(of: $0) == nil }, columns.filter { stored.slot(of: $0) != nil }
        )
        let knownTypes = types.filter { stored.slot(of: $0.key) != nil }
        _ = try require(known, among: columns, knownTypes, of: stored, isEmpty: false)
        if missing.isEmpty { return }
        let found = try inferred(missing)
        let added = missing.map { AttributeDescription($0, types[$0] ?? found[$0] ?? .string) }
        let container = try PersistentContainer(storeAt: store.store)
        // Relationships need the entities that they lead to, and `--relate` may have added some to this one.
        let entities = try container.model().entities
        try container.migrate(to: Model(entities: entities.map { $0.name == entity ? $0.adding(added, []) : $0 }))
    }

    /// Whether columns and types are other ones than an entity has, which one without objects may get. Throws for one
    /// with objects.
    private func require(
        _ columns: [String], among all: [String], _ types: [String: ValueType], of stored: Entity, isEmpty: Bool
    ) throws -> Bool {
        var differs = false
        for name in columns where stored.slot(of: name) == nil {
            differs = true
            if isEmpty, types[name] != nil || name == key { continue }
            throw BadInput(
                file: file, line: 1, column: all.firstIndex(of: name).map { $0 + 1 }, columnName: name,
                reason: "the stored entity \(entity) has no such attribute\(stored.nearName(to: name).hint); "
                    + "--add-columns adds it")
        }
        for (name, type) in types.sorted(by: { $0.key < $1.key }) {
            guard let slot = stored.slot(of: name) else {
                differs = true
                if isEmpty { continue }
                throw stored.unknownAttribute(name)
            }
            let attribute = stored.attribute(at: slot)
            if type == attribute.type { continue }
            differs = true
            if isEmpty { continue }
            throw RequestError.wrongType(
                "\(entity).\(name) is stored as \(attribute.type.name), not as \(type.name); `fetchindex model migrate` with "
                    + "--change \(RequestText.quoted(name)):\(type.name) changes it, and `fetchindex model drop-entity` lets a "
                    + "failed first import begin anew")
        }
        // For an entity with objects, the writer finds out that the key is not unique.
        if isEmpty, let key, stored.slot(of: key).map({ !stored.attribute(at: $0).isUnique }) ?? true { differs = true }
        return differs
    }

    /// What is known of the columns before the file is read. Lines of JSON may lack what a stored entity has; for one that is to be made,
    /// all of them are read for their members.
    func toldColumns() throws -> ToldColumns {
        var names = Set(try givenTypes(nil).named.map(\.name))
        // What is wrong with the folder is told when the store is opened for the rows.
        let container = try? PersistentContainer(storeAt: store.store)
        let stored = try container?.model().entity(named: entity)
        if let stored {
            names.formUnion(stored.attributes.map(\.name))
            let relationships = stored.storedRelationships.filter { !$0.isRemoved && $0.storage != .inverse }
            names.formUnion(relationships.map(\.description.name))
            if stored.links != nil {
                names.formUnion([RecordKey.numberName(stored.has), RecordKey.storeName(stored.has)])
            }
        }
        let isNew = try stored == nil || container?.count(ofEntity: entity) == 0
        return ToldColumns(
            names: names, areFoundInAllLines: isNew || addColumns, areListsText: lists.listsAsText, key: key)
    }

    /// The error for a name that no column of the file has.
    func unknownColumn(_ name: String, _ columns: [String]) -> ModelError {
        .unknownAttribute(entity: file, attribute: name, near: NearName(columns.nearest(to: name)))
    }

    /// A delimiter by its name or as it is. A quotation mark or a line end cannot be one.
    static func delimiter(_ text: String, _ format: CatalogueFormat) throws -> UInt8 {
        if format != .csv { throw ValidationError("--delimiter is for CSV, not for \(format.rawValue).") }
        let text = ["tab": "\t", "\\t": "\t"][text] ?? text
        guard let byte = text.utf8.first, text.utf8.count == 1, CatalogueInput.canDelimit(byte) else {
            throw ValidationError("--delimiter is one ASCII character, or tab, not \"\(text)\".")
        }
        return byte
    }

    /// What `--types` tells. Names must be columns of the file, where there are any.
    func givenTypes(_ columns: [String]?) throws -> GivenTypes {
        let given = try GivenTypes(types ?? "")
        if let columns, let unknown = given.named.first(where: { !columns.contains($0.name) }) {
            throw unknownColumn(unknown.name, columns)
        }
        return given
    }

    /// The file from its first row on.
    func opened(_ format: CatalogueFormat, _ input: CatalogueInput, _ told: ToldColumns) throws -> any RowSource {
        let source = try format.open(input, told)
        source.decompressesAhead = threads.count > 1
        return source
    }
}

extension Entity {
    /// The entity with more attributes and relationships.
    fileprivate func adding(
        _ attributes: [AttributeDescription], _ relationships: [RelationshipDescription]
    ) -> Entity {
        Entity(
            name, self.attributes + attributes, relationships: self.relationships + relationships,
            unique: uniqueAttributes, indexes: indexes, superentity: superentity, isAbstract: isAbstract)
    }
}
