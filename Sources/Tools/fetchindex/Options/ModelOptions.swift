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
    @Option(
        help: """
            A file with the new model: in the form that `model show --output json` prints, which keeps what it lacks, or Core \
            Data's, which removes it.
            """)
    var to: String?
    @Option(help: "With --to and a bundle of Core Data: the version, by default the current one.") var modelVersion:
        String?

    @Flag(help: "With --to: drop entities that the file lacks, with their objects.") var dropEntities = false

    func validate() throws {
        let hasChanges = !(add + derive + drop + rename + change).isEmpty
        if hasChanges == (to != nil) {
            throw ValidationError("Pass --to FILE, or changes: --add, --derive, --drop, --rename, --change.")
        }
        if modelVersion != nil && to == nil { throw ValidationError("--model-version needs --to.") }
        if dropEntities && to == nil { throw ValidationError("--drop-entities needs --to.") }
    }

    /// Reads the model of `--to`; nil without this option.
    func whole() throws -> ModelInput? {
        try to.map { try ModelInput($0, version: modelVersion) }
    }

    /// Returns the stored model after the changes. Throws if the entity lacks a name that is to be changed or removed.
    func model(from stored: Model) throws -> Model {
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
        let names = Dictionary(rename.map { ($0.old, $0.new) }) { first, _ in first }
        let lists = related.isEmpty ? entity.uniqueListsOfAttributes : related.uniqueLists(of: entity)
        let unique = lists.filter { Set($0).isDisjoint(with: drop) }
        return Entity(
            entity.name, try changedAttributes(of: entity, isSubentity: superentity != nil, rename, drop),
            relationships: related.isEmpty ? [] : related.relationships(of: entity),
            unique: unique.map { $0.map { names[$0] ?? $0 } }, removed: drop + related.removed(from: entity),
            superentity: superentity,
            isAbstract: entity.isAbstract)
    }

    private func changedAttributes(
        of entity: Entity, isSubentity: Bool, _ rename: [(old: String, new: String)], _ drop: [String]
    ) throws -> [AttributeDescription] {
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
        // A subentity may already have an attribute of an added one's name, which stays as it is.
        let known = isSubentity ? entity.attributes.map(\.name) : []
        return attributes + (try addedAttributes().filter { !known.contains($0.name) }) + (try derivedAttributes())
    }

    private func addedAttributes() throws -> [AttributeDescription] {
        try add.map { text in
            let (name, type, value) = try Self.declaration(text, "--add", hasValue: true)
            return AttributeDescription(name, type, isOptional: value.isNull, defaultValue: value)
        }
    }

    private func derivedAttributes() throws -> [AttributeDescription] {
        try derive.map { text in
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else {
                throw ValidationError("--derive expects NAME:TYPE=EXPRESSION, not \"\(text)\".")
            }
            let (name, type, _) = try Self.declaration(parts[0], "--derive", hasValue: false)
            return AttributeDescription(name, type, derivation: parts[1])
        }
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
