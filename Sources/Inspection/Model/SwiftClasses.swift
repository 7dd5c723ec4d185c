internal import FetchIndexEssentials
package import FetchIndexModels
internal import FetchIndexValues

/// Writes the classes of managed objects that declare a model, as Swift source.
package struct SwiftClasses {
    /// The members of `ManagedObject`, which a class can't declare again.
    private static let members: Set<String> = [
        "Protocol", "Type", "awakeFromInsert", "changedValues", "committedValues", "description", "didSave", "entity",
        "hasChanges", "hash",
        "hashValue", "isDeleted", "isFault", "isInserted", "isUpdated", "managedObjectContext", "objectID",
        "predicateValue", "prepareForDeletion", "relate", "relatedObject", "relatedObjects", "validate", "value",
        "willSave",
    ]
    /// Types that the source uses, so that no class may have their names.
    private static let types: Set<String> = [
        "Attribute", "Bool", "Data", "Date", "Decimal", "Double", "Index", "Int", "ManagedObject", "Model",
        "Optional", "Protocol", "Related", "Relationship", "String", "Type", "URL", "UUID", "declaredModel",
    ]
    /// Words that need backquotes as the name of a property. The Swift Programming Language, "Lexical Structure".
    private static let keywords: Set<String> = [
        "Any", "Self", "as", "associatedtype", "borrowing", "break", "case", "catch", "class", "consuming", "continue",
        "default",
        "defer",
        "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard",
        "if",
        "import", "in", "init", "inout", "internal", "is", "let", "nil", "nonisolated", "open", "operator",
        "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return", "self", "static", "struct",
        "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var", "where", "while",
    ]

    private let model: Model
    private var classNames: [String: String] = [:]
    /// The names of properties by entity, and by the names of attributes and relationships.
    private var properties: [String: [String: String]] = [:]

    /// `classNames` are names of classes by entity; without one, a class has its entity's name. A name that isn't an
    /// identifier, or that another class or a type of the source has, is changed.
    package init(_ model: Model, classNames: [String: String] = [:]) {
        self.model = model
        var used = Self.types
        for entity in model.entities where !entity.isJoin {
            // A module may precede the name of a class.
            let wanted = classNames[entity.name]?.split(separator: ".").last.map(String.init) ?? entity.name
            let name = Self.free(Self.identifier(wanted), among: used, suffix: "Object")
            used.insert(name)
            self.classNames[entity.name] = name
        }
        // A property with the name of a type would hide the type from the others.
        let taken = Self.members.union(Self.types).union(self.classNames.values)
        for entity in entities {
            var names = entity.superentity.flatMap { properties[$0] } ?? [:]
            var used = taken.union(names.values).union(names.values.map { "_" + $0 })
            for name in entity.attributes.map(\.name) + entity.relationships.map(\.name) where names[name] == nil {
                // The property `name` has its wrapper in `_name`.
                let free = Self.free(Self.identifier(name), among: used, suffix: "Value") { "_" + $0 }
                used.formUnion([free, "_" + free])
                names[name] = free
            }
            properties[entity.name] = names
        }
    }

    /// The entities with classes, superentities first.
    private var entities: [Entity] { model.entities.filter { !$0.isJoin }.sorted { depth($0) < depth($1) } }

    /// The source: a class for each entity, superentities first.
    package var source: String {
        var lines = ["FetchIndex", "Foundation"].map { "import \($0)" }
        for entity in entities { lines += [""] + declaration(of: entity) }
        let names = model.entities.filter { !$0.isJoin }.map { "\(className($0.name)).self" }
        lines += ["", "/// The model that these classes declare."]
        lines += ["let declaredModel = Model(\(names.joined(separator: ", ")))"]
        return lines.joined(separator: "\n") + "\n"
    }

    private func className(_ entity: String) -> String { Self.quoted(classNames[entity] ?? entity) }

    private func depth(_ entity: Entity) -> Int {
        var depth = 0
        var next = entity.superentity
        while let name = next, depth < model.entities.count {
            depth += 1
            next = model.entity(named: name)?.superentity
        }
        return depth
    }

    private func declaration(of entity: Entity) -> [String] {
        let name = className(entity.name)
        let superentity = entity.superentity.flatMap { model.entity(named: $0) }
        let isFinal = !model.entities.contains { $0.superentity == entity.name }
        var lines = [
            "\(isFinal ? "final " : "")class \(name): \(superentity.map { className($0.name) } ?? "ManagedObject") {"
        ]
        let indexes = entity.indexes.filter { !(superentity?.indexes.contains($0) ?? false) }
        for attribute in entity.attributes where superentity?.slot(of: attribute.name) == nil {
            let isIndexed = indexes.contains(Index(keys: [Index.Key(attribute.name)]))
            lines.append("    " + declaration(of: attribute, of: entity, isIndexed: isIndexed))
        }
        for relationship in entity.relationships where superentity?.relationship(named: relationship.name) == nil {
            lines.append("    " + declaration(of: relationship, of: entity))
        }
        let overrides = overrides(of: entity, superentity, indexes)
        if !overrides.isEmpty && lines.count > 1 { lines.append("") }
        lines += overrides.map { "    override class var \($0) { \($1) }" }
        return lines + ["}"]
    }

    /// The class properties that differ from those of the superclass, with their types, and the bodies of their getters.
    private func overrides(of entity: Entity, _ superentity: Entity?, _ indexes: [Index]) -> [(String, String)] {
        var overrides: [(String, String)] = []
        if classNames[entity.name] != entity.name {
            overrides.append(("entityName: String", Self.literal(entity.name)))
        }
        if entity.isAbstract { overrides.append(("isAbstract: Bool", "self == \(className(entity.name)).self")) }
        let unique = entity.uniqueAttributes.filter { !(superentity?.uniqueAttributes.contains($0) ?? false) }
        if !unique.isEmpty {
            let lists = unique.map { "[" + $0.map(Self.literal).joined(separator: ", ") + "]" }
            overrides.append(("uniqueAttributes: [[String]]", "[\(lists.joined(separator: ", "))]"))
        }
        let others = indexes.filter { index in
            index.keys.count > 1 || index.keys[0].isDescending
                || !entity.attributes.contains { $0.name == index.keys[0].attribute }
        }
        if !others.isEmpty {
            let texts = others.map { index in
                let keys = index.keys.map {
                    "Index.Key(\(Self.literal($0.attribute))\($0.isDescending ? ", isDescending: true" : ""))"
                }
                return "Index(keys: [\(keys.joined(separator: ", "))])"
            }
            overrides.append(("indexes: [Index]", "[\(texts.joined(separator: ", "))]"))
        }
        return overrides
    }

    // MARK: Properties

    private func declaration(of attribute: AttributeDescription, of entity: Entity, isIndexed: Bool) -> String {
        var arguments = [Self.literal(attribute.name)]
        if attribute.isUnique { arguments.append("isUnique: true") }
        if isIndexed { arguments.append("indexed: true") }
        if let derivation = attribute.derivation { arguments.append("derivedBy: \(Self.literal(derivation))") }
        var text = "@Attribute(\(arguments.joined(separator: ", "))) var \(property(attribute.name, of: entity)): "
        text += Self.typeName(attribute.type) + (attribute.isOptional ? "?" : "")
        if let value = Self.literal(attribute.defaultValue) { text += " = \(value)" }
        return text
    }

    private func declaration(of relationship: RelationshipDescription, of entity: Entity) -> String {
        var arguments = [Self.literal(relationship.name)]
        if let inverse = relationship.inverse { arguments.append("inverse: \(Self.literal(inverse))") }
        if relationship.isOrdered { arguments.append("ordered: true") }
        if !relationship.isToMany && !relationship.isOptional { arguments.append("isRequired: true") }
        if relationship.deleteRule != .nullify { arguments.append("deleteRule: .\(relationship.deleteRule)") }
        if relationship.minCount > 0 { arguments.append("minCount: \(relationship.minCount)") }
        if relationship.maxCount > 0 { arguments.append("maxCount: \(relationship.maxCount)") }
        let destination = className(relationship.destination)
        let type = relationship.isToMany ? "Related<\(destination)>" : "\(destination)?"
        return
            "@Relationship(\(arguments.joined(separator: ", "))) var \(property(relationship.name, of: entity)): \(type)"
    }

    private static func typeName(_ type: ValueType) -> String {
        switch type {
        case .boolean: "Bool"
        case .integer: "Int"
        case .double: "Double"
        case .decimal: "Decimal"
        case .string: "String"
        case .date: "Date"
        case .data: "Data"
        case .uuid: "UUID"
        case .url: "URL"
        }
    }

    /// The Swift expression for a default value; nil for null.
    private static func literal(_ value: Value) -> String? {
        switch value {
        case .null: nil
        case .boolean(let flag): "\(flag)"
        case .integer(let number): "\(number)"
        case .double(let number):
            number.isFinite ? "\(number)" : number.isNaN ? ".nan" : number < 0 ? "-.infinity" : ".infinity"
        case .string(let text): literal(text)
        case .decimal(let number): "Decimal(string: \(literal(number.description)))!"
        case .date(let date): "Date(timeIntervalSinceReferenceDate: \(date.timeIntervalSinceReferenceDate))"
        case .uuid(let uuid): "UUID(uuidString: \(literal(uuid.uuidString)))!"
        case .url(let url): "URL(string: \(literal(url.absoluteString)))!"
        case .data(let data): "Data([\(data.map { "\($0)" }.joined(separator: ", "))])"
        }
    }

    private static func literal(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": literal += "\\" + String(scalar)
            case _
            where scalar.value < 32 || scalar.value == 127 || (0x80...0x9F).contains(scalar.value)
                || scalar.value == 0x2028 || scalar.value == 0x2029:
                literal += "\\u{\(String(scalar.value, radix: 16))}"
            default: literal.unicodeScalars.append(scalar)
            }
        }
        return literal + "\""
    }

    // MARK: Names

    private func property(_ name: String, of entity: Entity) -> String {
        Self.quoted(properties[entity.name]?[name] ?? name)
    }

    private static func quoted(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

    /// An identifier that resembles a name: what can't be part of one becomes a low line. The Swift Programming Language,
    /// "Lexical Structure"; the Unicode properties are narrower than Swift's grammar.
    private static func identifier(_ name: String) -> String {
        var identifier = ""
        for scalar in name.unicodeScalars {
            let isPart = scalar == "_" || scalar.properties.isXIDContinue
            identifier.unicodeScalars.append(isPart ? scalar : "_")
        }
        let begins = identifier.unicodeScalars.first.map { $0 == "_" || $0.properties.isXIDStart } ?? false
        if !begins { identifier = "_" + identifier }
        return identifier.allSatisfy { $0 == "_" } ? "_name" : identifier
    }

    private static func free(
        _ name: String, among used: Set<String>, suffix: String, other: (String) -> String = { $0 }
    ) -> String {
        var free = name
        var number = 1
        while used.contains(free) || used.contains(other(free)) {
            free = name + suffix + (number == 1 ? "" : "\(number)")
            number += 1
        }
        return free
    }
}
