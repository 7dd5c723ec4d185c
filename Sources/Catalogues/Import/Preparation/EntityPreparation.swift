internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

/// Decides which model the store needs so that a file's rows fit their entity.
///
///     the store lacks it                       it's created with the file's columns, or those of the given types
///     it has no objects, and `isAlone`         it's created anew if it doesn't fit, unless columns are added
///     any other stored entity                  it keeps its types; it gets missing columns if the request says so
///
/// The second case is for an entity that has no objects because an import failed after it had inferred wrong types. The
/// unfit entity is dropped at once, except in a dry run. All other changes are left to the caller.
struct EntityPreparation {
    let request: ImportRequest
    let container: PersistentContainer
    /// The file; nil for an empty file, which has no columns and no rows.
    let file: CatalogueFile?
    /// The columns of the file.
    let all: [String]

    var entity: String { request.entity }
    var key: String? { request.key }

    init(_ request: ImportRequest, _ container: PersistentContainer, _ file: CatalogueFile?) {
        (self.request, self.container, self.file) = (request, container, file)
        all = file?.source.columns ?? []
    }

    /// Returns the stored model with the entity, created or changed if needed, and the entities that it's related to.
    /// The columns of relations become relationships. Columns of a stored entity's relationships, of object numbers and
    /// of stores don't become attributes.
    func fittingModel() throws -> Model {
        let model = try withRelatedEntities(container.model())
        let stored = model.entity(named: entity)
        let columns = try attributeColumns(of: stored)
        guard let stored else {
            let new = Entity(entity, try newAttributes(columns, besides: []))
            return try model.adding(request.relations, to: new)
        }
        let related = try withRelationships(of: stored, model)
        if request.addsColumns {
            let added = try missingAttributes(columns, of: stored)
            guard !added.isEmpty, let stored = related.entity(named: entity) else { return related }
            return related.with(stored.adding(added, []))
        }
        guard try dropUnfit(stored, columns) else { return related }
        let kept = keptAttributes(of: stored, types(of: columns))
        let new = Entity(
            entity, kept + (try newAttributes(columns, besides: kept)), unique: stored.uniqueListsOfAttributes,
            indexes: stored.indexesOfAttributes, isAbstract: stored.isAbstract)
        return related.with(new.adding([], stored.relationships))
    }

    /// The columns that are attributes, in the file's order.
    private func attributeColumns(of stored: Entity?) throws -> [String] {
        let taken = try attributeNames(stored)
        return all.filter { isAttribute($0, of: stored, takenNames: taken) }
    }

    private func isAttribute(_ column: String, of stored: Entity?, takenNames names: Set<String>) -> Bool {
        if request.relations.contains(where: { $0.column == column }) { return false }
        if stored?.slot(of: column) != nil { return true }
        if stored?.relationship(named: column) != nil { return false }
        func isTaken(_ name: String) -> Bool { stored?.has(name) ?? false || names.contains(name) }
        return column != RecordKey.numberName(isTaken) && column != RecordKey.storeName(isTaken)
    }

    // MARK: Types

    /// Returns the given types of columns, by their names.
    func types(of columns: [String]) -> [String: ValueType] { request.types.types(of: columns) }

    /// Infers the types of the named columns that have no given type.
    func inferredTypes(of names: [String]) throws -> [String: ValueType] {
        let given = types(of: names)
        let asked = all.indices.filter { names.contains(all[$0]) && given[all[$0]] == nil }
        guard let file, !asked.isEmpty else { return [:] }
        let found = try file.inferTypes(of: Set(asked), key: key)
        return Dictionary(asked.map { (all[$0], found[$0]) }) { first, _ in first }
    }

    /// Returns attributes for the columns that aren't known attributes. If `columns` is empty, returns attributes for
    /// the names of the given types.
    private func newAttributes(
        _ columns: [String], besides known: [AttributeDescription]
    ) throws -> [AttributeDescription] {
        let names = columns.isEmpty ? request.types.named.map(\.name) : columns
        let missing = names.filter { name in !known.contains { $0.name == name } }
        let given = types(of: columns)
        let found = try inferredTypes(of: missing)
        return missing.map { name in
            AttributeDescription(
                name, given[name] ?? found[name] ?? .string, isOptional: name != key, isUnique: name == key)
        }
    }

    /// Returns the attributes of a stored entity with the given types. An attribute that gets another type loses its
    /// default value.
    private func keptAttributes(of stored: Entity, _ types: [String: ValueType]) -> [AttributeDescription] {
        stored.attributes.map { attribute in
            let type = types[attribute.name] ?? attribute.type
            return AttributeDescription(
                attribute.name, type, isOptional: attribute.isOptional && attribute.name != key,
                isUnique: attribute.isUnique || attribute.name == key,
                defaultValue: type == attribute.type ? attribute.defaultValue : .null,
                derivation: attribute.derivation)
        }
    }

    // MARK: Entities without objects

    /// Drops a stored entity that doesn't fit the file, if it has no objects and no other entity depends on it. Returns
    /// whether it was dropped. Throws if the file doesn't fit an entity that stays.
    private func dropUnfit(_ stored: Entity, _ columns: [String]) throws -> Bool {
        let isEmpty = try !request.isDryRun && isAlone(stored) && container.count(ofEntity: entity) == 0
        let types = types(of: columns)
        guard try differs(stored, from: columns, types, isEmpty: isEmpty) else { return false }
        if try container.dropEmptyEntity(named: entity) { return true }
        // Another process has added objects to the entity, so the file must fit it.
        _ = try differs(stored, from: columns, types, isEmpty: false)
        return false
    }

    /// Whether no other entity depends on an entity: it's in no hierarchy, and no relationship begins at it or leads to
    /// it.
    private func isAlone(_ stored: Entity) throws -> Bool {
        let model = try container.model()
        let isRelated = model.entities.contains { other in
            other.relationships.contains { other.name == entity || $0.destination == entity }
        }
        return try !isRelated && model.hierarchy(of: model.number(of: entity)).count == 1
            && stored.superentity == nil
    }
}
