internal import FetchIndexEssentials
internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

/// Makes a model of one that Core Data describes, and notes what can't be represented.
struct ModelConverter {
    private let source: SourceModel
    private var notes = DifferenceList()
    /// Relationships that are added to entities as other sides, by entity.
    private var added: [String: [RelationshipDescription]] = [:]
    /// The relationships whose other sides were added, by the destination and the other side's name.
    private(set) var otherSides: [String: [String: (entity: String, relationship: String)]] = [:]
    /// The names of all properties.
    private var names: Set<String>
    private let entitiesByName: [String: SourceModel.Entity]
    private(set) var model = Model(entities: [])

    /// Converts a model. Throws `ModelError.invalid` if it contradicts itself.
    init(_ source: SourceModel) throws {
        self.source = source
        names = Set(source.entities.flatMap { $0.attributes.map(\.name) + $0.relationships.map(\.name) })
        entitiesByName = Dictionary(source.entities.map { ($0.name, $0) }) { first, _ in first }
        // Other sides are found first, because an entity may follow the one that gets them.
        let relationships = source.entities.map { entity in self.relationships(of: entity) }
        let entities = zip(source.entities, relationships).map { entity, relationships in
            self.entity(entity, relationships + (added[entity.name] ?? []))
        }
        for name in source.configurations { note(.leftOut, "configurations", name) }
        model = Model(entities: entities)
        removeUnusable()
        model = Model(entities: model.entities, requests: source.requests.compactMap { namedRequest($0) })
        try model.validate()
    }

    /// What can't be represented.
    var differences: [CoreDataDifference] { notes.differences }

    private mutating func note(_ kind: CoreDataDifference.Kind, _ what: String, _ name: String) {
        notes.note(kind, what, name)
    }

    private mutating func namedRequest(_ request: SourceModel.Request) -> NamedRequest? {
        func named(_ predicate: FetchPredicate?) -> NamedRequest {
            NamedRequest(request.name, entity: request.entity, predicate: predicate, fetchLimit: request.fetchLimit)
        }
        if let format = request.predicate, model.entity(named: request.entity) != nil {
            if format.isEmpty { return named(nil) }
            if let predicate = try? FetchPredicate(format: format, argumentArray: []) { return named(predicate) }
        }
        note(.leftOut, "fetch request templates whose predicates can't be read", request.name)
        return nil
    }

    // MARK: Entities

    private mutating func entity(
        _ entity: SourceModel.Entity, _ relationships: [RelationshipDescription]
    ) -> Entity {
        for rule in entity.rules { note(.notKept, rule, entity.name) }
        for name in entity.fetchedProperties { note(.leftOut, "fetched properties", "\(entity.name).\(name)") }
        let attributes = entity.attributes.flatMap { attribute($0, of: entity.name) }
        let old = entity.attributes.filter(\.isIndexed).map {
            SourceModel.Index(name: $0.name, keys: [($0.name, false)])
        }
        var indexes: [Index] = []
        for index in old + entity.indexes {
            if let keys = index.keys {
                indexes.append(Index(keys: keys.map { Index.Key($0.name, isDescending: $0.isDescending) }))
            } else {
                note(.leftOut, "indexes of expressions, of places or of some objects", "\(entity.name).\(index.name)")
            }
        }
        return Entity(
            entity.name, attributes, relationships: relationships, unique: entity.uniqueLists, indexes: indexes,
            superentity: entity.superentity, isAbstract: entity.isAbstract, renamedFrom: entity.formerName)
    }

    /// Leaves out indexes and uniqueness of properties that have no value in an object's record, and derivations that
    /// can't be computed.
    private mutating func removeUnusable() {
        let entities = source.entities.compactMap { entity -> Entity? in
            guard let whole = model.entity(named: entity.name) else { return nil }
            func isKey(_ name: String) -> Bool { model.isKey(name, of: whole) }
            // The entity as declared, without what it inherits.
            let superentity = entity.superentity.flatMap { model.entity(named: $0) }
            let underivable = whole.underivable
            let attributes = whole.attributes.filter { superentity?.slot(of: $0.name) == nil }.map { attribute in
                guard underivable.contains(attribute.name) else { return attribute }
                note(.changed, "derivations, whose values are stored", "\(entity.name).\(attribute.name)")
                return AttributeDescription(
                    attribute.name, attribute.type, isOptional: attribute.isOptional, renamedFrom: attribute.renamedFrom
                )
            }
            for index in whole.indexes where !index.keys.allSatisfy({ isKey($0.attribute) }) {
                note(.leftOut, "indexes of values that an object doesn't hold", "\(entity.name).\(index)")
            }
            for list in entity.uniqueLists where !list.allSatisfy(isKey) {
                note(
                    .leftOut, "uniqueness of values that an object doesn't hold",
                    "\(entity.name).\(list.joined(separator: ", "))")
            }
            return Entity(
                entity.name, attributes,
                relationships: whole.relationships.filter { superentity?.relationship(named: $0.name) == nil },
                unique: entity.uniqueLists.filter { $0.allSatisfy(isKey) },
                indexes: whole.indexes.filter { $0.keys.allSatisfy { isKey($0.attribute) } },
                superentity: entity.superentity, isAbstract: entity.isAbstract, renamedFrom: entity.formerName)
        }
        model = Model(entities: entities)
    }

    // MARK: Attributes

    /// `prefix` and `formerPrefix` precede the names of a composite attribute's parts.
    private mutating func attribute(
        _ attribute: SourceModel.Attribute, of entity: String, prefix: String = "", formerPrefix: String = ""
    ) -> [AttributeDescription] {
        let name = prefix + attribute.name
        let former = formerPrefix + (attribute.formerName ?? attribute.name)
        let title = "\(entity).\(name)"
        if attribute.isTransient {
            note(.leftOut, "transient attributes", title)
            return []
        }
        if attribute.isOnlyPart {
            var part = attribute.parts[0]
            part.formerName = attribute.formerName
            part.isOptional = part.isOptional || attribute.isOptional
            return self.attribute(part, of: entity, prefix: prefix, formerPrefix: formerPrefix)
        }
        if !attribute.parts.isEmpty {
            return attribute.parts.flatMap {
                self.attribute($0, of: entity, prefix: name + ".", formerPrefix: former + ".")
            }
        }
        guard let type = Self.type(attribute.type) else {
            note(.leftOut, "attributes without a type that FetchIndex has", title)
            return []
        }
        if attribute.type == "Transformable" { note(.asBytes, "transformable attributes", title) }
        for rule in attribute.rules { note(.notKept, rule, title) }
        let renamedFrom = former == name ? nil : former
        if let derivation = attribute.derivation {
            return [
                AttributeDescription(
                    name, type, isOptional: attribute.isOptional, renamedFrom: renamedFrom, derivation: derivation)
            ]
        }
        return [
            AttributeDescription(
                name, type, isOptional: attribute.isOptional, defaultValue: defaultValue(attribute, type, title),
                renamedFrom: renamedFrom)
        ]
    }

    private static func type(_ name: String?) -> ValueType? {
        switch name {
        case "Boolean": .boolean
        case "Integer 16", "Integer 32", "Integer 64": .integer
        case "Double", "Float": .double
        case "Decimal": .decimal
        case "String": .string
        case "Date": .date
        case "UUID": .uuid
        case "URI": .url
        case "Binary", "Transformable": .data
        default: nil
        }
    }

    /// Dates of about 30,000 years before and after 2001 have a text.
    private static let greatestSeconds = 1e12

    private mutating func defaultValue(
        _ attribute: SourceModel.Attribute, _ type: ValueType, _ title: String
    ) -> Value {
        guard let text = attribute.defaultText else { return .null }
        if type == .date, let seconds = attribute.defaultSeconds, seconds.magnitude < Self.greatestSeconds {
            return .date(Date(timeIntervalSinceReferenceDate: seconds))
        }
        if type == .data { return .null }
        if type == .boolean || type == .integer, let flag = ["YES": true, "NO": false][text.uppercased()] {
            if type == .boolean { return .boolean(flag) }
            note(.changed, "odd default values", "\(title) = \(text)")
            return .integer(flag ? 1 : 0)
        }
        if let value = Value(text, as: type), !value.isUnstorable { return value }
        if type == .integer, let number = Double(text), let integer = Int64(exactly: number) {
            return .integer(integer)
        }
        note(.changed, "odd default values", "\(title) = \(text)")
        return .null
    }

    // MARK: Relationships

    private mutating func relationships(of entity: SourceModel.Entity) -> [RelationshipDescription] {
        entity.relationships.compactMap { relationship in
            let title = "\(entity.name).\(relationship.name)"
            if relationship.isTransient {
                note(.leftOut, "transient relationships", title)
                return nil
            }
            let rules: [String: DeleteRule] = ["Cascade": .cascade, "Deny": .deny, "No Action": .noAction]
            let rule = rules[relationship.deleteRule] ?? .nullify
            var inverse = relationship.inverse
            if let name = inverse, !isInverse(name, of: relationship, in: entity.name) {
                note(.changed, "inverses that are not mutual, which are dropped", title)
                inverse = nil
            }
            guard relationship.isToMany else {
                return RelationshipDescription(
                    relationship.name, toOne: relationship.destination, inverse: inverse,
                    isOptional: relationship.isOptional, deleteRule: rule, renamedFrom: relationship.formerName)
            }
            if inverse == nil {
                note(.changed, "to-many relationships without an inverse, which get one", title)
                inverse = otherSide(of: relationship, in: entity.name)
            }
            // In Core Data, an optional relationship may have no objects whatever its minimum is.
            if relationship.isOptional && relationship.minCount > 0 {
                note(.notKept, "minimum counts of optional relationships", title)
            }
            return RelationshipDescription(
                relationship.name, toMany: relationship.destination, inverse: inverse ?? "",
                ordered: relationship.isOrdered, deleteRule: rule,
                minCount: relationship.isOptional ? 0 : relationship.minCount,
                maxCount: relationship.maxCount, renamedFrom: relationship.formerName)
        }
    }

    private func isInverse(_ name: String, of relationship: SourceModel.Relationship, in entity: String) -> Bool {
        for destination in [relationship.destination] + superentities(of: relationship.destination) {
            guard let found = entitiesByName[destination] else { return false }
            if let other = found.relationships.first(where: { $0.name == name }) {
                return other.inverse == relationship.name && other.destination == entity && !other.isTransient
            }
        }
        return false
    }

    private func superentities(of entity: String) -> [String] {
        var names: [String] = []
        var next = entitiesByName[entity]?.superentity
        while let name = next, !names.contains(name), name != entity {
            names.append(name)
            next = entitiesByName[name]?.superentity
        }
        return names
    }

    /// Adds the other side of a relationship to its destination, and returns the other side's name, which no property of
    /// the model has.
    private mutating func otherSide(of relationship: SourceModel.Relationship, in entity: String) -> String {
        let wanted = "\(relationship.name)Of\(entity)"
        var name = wanted
        var number = 2
        while names.contains(name) {
            name = "\(wanted)\(number)"
            number += 1
        }
        names.insert(name)
        otherSides[relationship.destination, default: [:]][name] = (entity, relationship.name)
        added[relationship.destination, default: []].append(
            RelationshipDescription(name, toOne: entity, inverse: relationship.name))
        return name
    }
}

extension Entity {
    /// The names of derived attributes whose expressions can't compute them.
    fileprivate var underivable: Set<String> {
        if (try? requireDerivations()) != nil { return [] }
        let derived = attributes.filter { $0.derivation != nil }.map(\.name)
        func areDerivable(_ names: [String]) -> Bool {
            let some = attributes.map { attribute in
                names.contains(attribute.name) ? attribute : AttributeDescription(attribute.name, attribute.type)
            }
            return (try? Entity(name, some).requireDerivations()) != nil
        }
        let good = derived.filter { areDerivable([$0]) }
        // An attribute may be derived from another derived one.
        return areDerivable(good) ? Set(derived).subtracting(good) : Set(derived)
    }
}
