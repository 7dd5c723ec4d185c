internal import FetchIndexTerminal
internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexEssentials

/// The options that describe a store's new model: changes of one entity, or a file with the whole model.
struct ModelOptions: ParsableArguments {
    @Option(help: "The entity; required if the store has several.") var entity: String?
    @Option(
        parsing: .unconditionalSingleValue,
        help: "An attribute to add: NAME:TYPE, or NAME:TYPE=VALUE with a value for existing objects.")
    var add: [String] = []
    @Option(
        parsing: .unconditionalSingleValue,
        help: "An attribute to add whose value is computed: NAME:TYPE=EXPRESSION, as in 'total:integer=price * count'.")
    var derive: [String] = []
    @Option(parsing: .unconditionalSingleValue, help: "An attribute or a relationship to remove.") var drop: [String] =
        []
    @Option(parsing: .unconditionalSingleValue, help: "An attribute or a relationship to rename: OLD=NEW.") var rename:
        [String] = []
    @Option(parsing: .unconditionalSingleValue, help: "An attribute to convert to another type: NAME:TYPE.") var change:
        [String] = []
    @Option(help: "A file with the whole new model, in the form that `model show --output json` prints.") var to:
        String?

    func validate() throws {
        let hasChanges = !(add + derive + drop + rename + change).isEmpty
        if hasChanges == (to != nil) {
            throw ValidationError("Pass --to FILE, or changes: --add, --derive, --drop, --rename, --change.")
        }
    }

    /// Returns the model after the changes. Throws if the entity lacks a name that is to be changed or removed.
    func model(from stored: Model) throws -> Model {
        if let to { return try ModelFile.read(to) }
        let entity = try entity(of: stored)
        var rename = try self.rename.map { text in
            let names = RequestText.split(text, at: "=").map(RequestText.unquoted)
            guard names.count == 2 else { throw ValidationError("--rename expects OLD=NEW, not \"\(text)\".") }
            return (old: names[0], new: names[1])
        }
        var drop = self.drop
        let related = try RelationshipChanges(of: entity, in: stored, rename: &rename, drop: &drop)
        // Subentities have the entity's attributes, so they are changed too.
        let subentities = stored.entities.filter { $0.name != entity.name && stored.isSubentity($0, of: entity.name) }
        let superentity = related.isEmpty ? nil : entity.superentity
        let entities =
            [try changed(entity, superentity: superentity, rename, drop, related)]
            + (try subentities.map { try changed($0, superentity: $0.superentity, rename, drop, related) })
        if related.isEmpty { return Model(entities: entities) }
        // A change of relationships also changes their inverses in other entities.
        return Model(
            entities: stored.entities.map { other in
                entities.first { $0.name == other.name }
                    ?? Entity(
                        other.name, other.attributes, relationships: related.relationships(of: other),
                        unique: related.uniqueLists(of: other), indexes: related.indexes(of: other),
                        removed: related.removed(from: other),
                        superentity: other.superentity, isAbstract: other.isAbstract)
            })
    }

    private func changed(
        _ entity: Entity, superentity: String?, _ rename: [(old: String, new: String)], _ drop: [String],
        _ related: RelationshipChanges
    ) throws -> Entity {
        var attributes = entity.attributes
        func index(of name: String) throws -> Int {
            guard let index = attributes.firstIndex(where: { $0.name == name }) else {
                throw entity.unknownAttribute(name)
            }
            return index
        }
        for (name, new) in rename {
            let index = try index(of: name)
            let old = attributes[index]
            attributes[index] = AttributeDescription(
                new, old.type, isOptional: old.isOptional, isUnique: old.isUnique,
                defaultValue: old.defaultValue, renamedFrom: name, derivation: old.derivation)
        }
        for text in change {
            let (name, type, _) = try Self.declaration(text, "--change", hasValue: false)
            let index = try index(of: name)
            let old = attributes[index]
            attributes[index] = AttributeDescription(
                name, type, isOptional: old.isOptional, isUnique: old.isUnique,
                defaultValue: Value(old.defaultValue.description, as: type) ?? .null, renamedFrom: old.renamedFrom,
                derivation: old.derivation)
        }
        for name in drop { attributes.remove(at: try index(of: name)) }
        for text in add {
            let (name, type, value) = try Self.declaration(text, "--add", hasValue: true)
            // A subentity may already have an attribute of this name, which stays as it is.
            if superentity != nil, entity.attributes.contains(where: { $0.name == name }) { continue }
            attributes.append(
                AttributeDescription(name, type, isOptional: value.isNull, defaultValue: value))
        }
        for text in derive {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else {
                throw ValidationError("--derive expects NAME:TYPE=EXPRESSION, not \"\(text)\".")
            }
            let (name, type, _) = try Self.declaration(parts[0], "--derive", hasValue: false)
            attributes.append(AttributeDescription(name, type, derivation: parts[1]))
        }
        let names = Dictionary(rename.map { ($0.old, $0.new) }) { first, _ in first }
        let lists = related.isEmpty ? entity.uniqueListsOfAttributes : related.uniqueLists(of: entity)
        let unique = lists.filter { Set($0).isDisjoint(with: drop) }
        return Entity(
            entity.name, attributes, relationships: related.isEmpty ? [] : related.relationships(of: entity),
            unique: unique.map { $0.map { names[$0] ?? $0 } }, removed: drop + related.removed(from: entity),
            superentity: superentity,
            isAbstract: entity.isAbstract)
    }

    private func entity(of model: Model) throws -> Entity { try model.entity(orOnly: entity) }

    /// Parses NAME:TYPE or NAME:TYPE=VALUE.
    private static func declaration(
        _ text: String, _ option: String, hasValue: Bool
    ) throws -> (name: String, type: ValueType, value: Value) {
        let form = "NAME:TYPE" + (hasValue ? "[=VALUE]" : "")
        let parts = RequestText.split(text, at: ":")
        let rest = parts.dropFirst().joined(separator: ":")
        let typeName = hasValue ? String(rest.prefix { $0 != "=" }) : rest
        guard parts.count > 1, let type = ValueType(name: typeName) else {
            let names = ValueType.allCases.map(\.name).joined(separator: ", ")
            throw ValidationError("\(option) expects \(form), not \"\(text)\"; TYPE is one of \(names).")
        }
        let name = RequestText.unquoted(parts[0])
        guard typeName.count < rest.count else { return (name, type, .null) }
        let valueText = String(rest.dropFirst(typeName.count + 1))
        guard let value = Value(valueText, as: type) else {
            throw ValidationError("The value \"\(valueText)\" of \(name) is not \(type.nameWithArticle).")
        }
        return (name, type, value)
    }
}

/// A model as JSON.
struct ModelFile: Codable {
    struct StoredAttribute: Codable {
        let name: String
        let type: String
        var isOptional: Bool?
        var isUnique: Bool?
        var defaultValue: String?
        var renamedFrom: String?
        var derivation: String?
    }

    struct StoredEntity: Codable {
        let name: String
        var superentity: String?
        var isAbstract: Bool?
        /// The attributes. A subentity may leave out the attributes that it inherits.
        let attributes: [StoredAttribute]
        var relationships: [RelationshipFile]?
        var unique: [[String]]?
        /// The indexes, in the form that `model index add` takes.
        var indexes: [String]?
        var removedIndexes: [String]?
        var removed: [String]?
    }

    let entities: [StoredEntity]

    init(_ model: Model) {
        entities = model.entities.map { entity in
            StoredEntity(
                name: entity.name, superentity: entity.superentity, isAbstract: entity.isAbstract ? true : nil,
                attributes: entity.attributes.map { attribute in
                    StoredAttribute(
                        name: attribute.name, type: attribute.type.name, isOptional: attribute.isOptional,
                        isUnique: attribute.isUnique,
                        defaultValue: attribute.defaultValue.isNull ? nil : attribute.defaultValue.description,
                        derivation: attribute.derivation)
                },
                relationships: entity.relationships.isEmpty ? nil : entity.relationships.map { RelationshipFile($0) },
                unique: entity.uniqueAttributes.isEmpty ? nil : entity.uniqueAttributes,
                indexes: entity.indexes.isEmpty ? nil : entity.indexes.map(\.text))
        }
    }

    /// Reads a model from a file. Throws an error of one sentence if the file can't be read or isn't a model.
    static func read(_ path: String) throws -> Model {
        guard let data = FileManager.default.contents(atPath: path) else { throw Failure("\(path) cannot be read") }
        let file: ModelFile
        do { file = try JSONDecoder().decode(ModelFile.self, from: data) } catch {
            throw Failure("\(path) is not a model in the form that `model show --output json` prints")
        }
        return Model(
            entities: try file.entities.map { entity in
                let attributes = try entity.attributes.map { try attribute($0, of: entity.name, path) }
                return Entity(
                    entity.name, attributes,
                    relationships: try (entity.relationships ?? []).map { try $0.relationship(of: entity.name, path) },
                    unique: entity.unique ?? [],
                    indexes: try (entity.indexes ?? []).map { try Index(parsing: $0) }, removed: entity.removed ?? [],
                    removedIndexes: try (entity.removedIndexes ?? []).map { try Index(parsing: $0) },
                    superentity: entity.superentity, isAbstract: entity.isAbstract ?? false)
            })
    }

    private static func attribute(
        _ stored: StoredAttribute, of entity: String, _ path: String
    ) throws -> AttributeDescription {
        guard let type = ValueType(name: stored.type) else {
            throw Failure("\(path): \(entity).\(stored.name) has the unknown type \"\(stored.type)\"")
        }
        let value = try stored.defaultValue.map { text in
            guard let value = Value(text, as: type) else {
                throw Failure(
                    "\(path): the default value \"\(text)\" of \(entity).\(stored.name) is not \(type.nameWithArticle)")
            }
            return value
        }
        return AttributeDescription(
            stored.name, type, isOptional: stored.isOptional ?? true, isUnique: stored.isUnique ?? false,
            defaultValue: value ?? .null, renamedFrom: stored.renamedFrom, derivation: stored.derivation)
    }
}

extension Index {
    /// Parses a list of sort keys such as publisher,price:desc. Throws if a key has a text order.
    init(parsing text: String) throws {
        let keys = try SortKey<ManagedObject>.list(parsing: text)
        if let key = keys.first(where: { $0.textOrder != .binary }) {
            throw Failure("an index cannot have a text order, but \"\(key)\" has one")
        }
        self.init(keys: keys.map { Key($0.attribute, isDescending: $0.direction == .descending) })
    }

    var text: String {
        keys.map { SortKey<ManagedObject>($0.attribute, $0.isDescending ? .descending : .ascending).description }
            .joined(separator: ",")
    }
}
