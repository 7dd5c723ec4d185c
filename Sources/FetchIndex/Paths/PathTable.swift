internal import FetchIndexModels
internal import FetchIndexPredicates

/// The slots for all names in a definition. An attribute of the entity has its slot in records, and so has a to-one
/// relationship whose key the records contain; any other key path has a slot of at least `firstSlot`.
final class PathTable {
    static let firstSlot = 1 << 20
    /// An object of a to-many relationship may be read as a dictionary, which may contain dictionaries of its related
    /// objects, up to this depth.
    private static let greatestDepth = 3

    private let number: Int
    private let model: Model
    /// Whether the model has relationships. If not, only `self` and `entity` are key paths.
    private let hasRelationships: Bool
    private var entity: Entity { model.entities[number] }
    /// All names in the predicate, at any depth; empty if the model has no relationships. If an object is read as a
    /// dictionary, the dictionary has only those of its properties that have these names.
    let usedNames: Set<String>
    /// Whether the predicate uses the name `entity`.
    let usesEntityNames: Bool
    /// The key paths. The path at index i has the slot `firstSlot` + i.
    private(set) var paths: [RelatedPath] = []
    private var slots: [[String]: Int] = [:]
    /// The slots and types of the sort and section keys that are key paths, by dotted name.
    private var keys: [String: (slot: Int, type: ValueType)] = [:]
    /// The paths to the values that are read from objects of to-many relationships.
    private(set) var listed: [RelatedPath] = []
    /// The slots of the entity's own records that the resolved names read.
    private(set) var reads: Set<Int> = []

    init(ofEntity number: Int, in model: Model, _ predicate: FetchPredicate?) {
        (self.number, self.model) = (number, model)
        hasRelationships = model.hasRelationships
        let names = predicate?.usedNames ?? []
        usedNames = hasRelationships ? names : []
        usesEntityNames = names.contains(RelatedPath.entityName)
    }

    /// The paths, and those of the values that are read from objects of to-many relationships.
    var allPaths: [RelatedPath] { paths + listed }

    static func path(ofSlot slot: Int) -> Int? { slot < firstSlot ? nil : slot - firstSlot }

    func comparingObjects(in predicate: FetchPredicate) throws -> FetchPredicate {
        try ObjectComparisons.resolved(predicate, ofEntity: number, in: model)
    }

    /// The type of the value to which a path of to-one relationships leads; nil for a to-many path, a path to an
    /// entity's name, and the slot of an attribute.
    func lookedUpType(ofSlot slot: Int) -> ValueType? {
        guard let index = Self.path(ofSlot: slot), !paths[index].isToMany, !paths[index].givesEntities else {
            return nil
        }
        return paths[index].type ?? .integer
    }

    /// Resolves the attribute or key path at the beginning of a list of names.
    func resolve(_ names: [String]) throws -> ResolvedAttribute {
        let mayBePath = hasRelationships || names[0] == RelatedPath.keyName || names[0] == RelatedPath.entityName
        guard mayBePath, let path = try path(names) else {
            let (slot, count) = try entity.resolve(names)
            reads.insert(slot)
            return ResolvedAttribute(slot: slot, type: entity.attribute(at: slot).type, nameCount: count)
        }
        return try resolve(path, names)
    }

    private func resolve(_ path: RelatedPath, _ names: [String]) throws -> ResolvedAttribute {
        if let first = path.steps.first, case .reference = first.kind, let slot = first.slots[number] {
            reads.insert(slot)
            if path.steps.count == 1 && path.ends == nil && !path.givesEntities {
                return ResolvedAttribute(slot: slot, type: .integer, nameCount: path.nameCount)
            }
        }
        let taken = Array(names.prefix(path.nameCount))
        let slot = slots[taken] ?? Self.firstSlot + paths.count
        if slots[taken] == nil {
            slots[taken] = slot
            paths.append(path)
            let givesObjects = path.ends == nil && !path.givesKeys && !path.givesEntities
            if path.isToMany && givesObjects { try list(taken, depth: 0) }
        }
        let type = path.givesEntities ? .string : path.ends == nil ? .integer : path.type
        return ResolvedAttribute(slot: slot, type: type, nameCount: path.nameCount, isList: path.isToMany)
    }

    private func path(_ names: [String]) throws -> RelatedPath? {
        do {
            return try RelatedPath.following(names, from: number, in: model)
        } catch ModelError.unknownAttribute(let entity, let attribute, let near) {
            throw FetchPredicateError.unknownAttribute(attribute, entity: entity, near: near)
        }
    }

    /// The slot and type of a sort or section key. Throws if the path has to-many relationships, or ends neither with
    /// an attribute nor with the key of a directly related object.
    func requireSlot(of name: String, for what: String) throws -> (slot: Int, type: ValueType) {
        if let slot = hasRelationships ? entity.slot(of: name) : try entity.requireSlot(of: name) {
            reads.insert(slot)
            return (slot, entity.attribute(at: slot).type)
        }
        if let known = keys[name] { return known }
        let key = try findPath(named: name, for: what)
        keys[name] = key
        return key
    }

    private func findPath(named name: String, for what: String) throws -> (slot: Int, type: ValueType) {
        let names = name.pathNames
        guard let path = try? path(names) else {
            throw entity.unknownAttribute(name)
        }
        // The key of a directly related object is also allowed, because it groups rows by that object.
        let isKey = path.givesKeys && path.steps.count == 1
        guard !path.isToMany, path.ends != nil || isKey, path.nameCount == names.count else {
            throw RequestError.wrongType(
                "\(what) \(name) must lead through to-one relationships to an attribute")
        }
        let resolved = try resolve(path, names)
        return (resolved.slot, resolved.type ?? .integer)
    }

    /// The expression of a sort key that aggregates the objects of a to-many relationship, such as
    /// messages.@max.sentAt, and its type; nil if the name isn't such an aggregate.
    func aggregate(of name: String, for what: String) throws -> (expression: CompiledExpression, type: ValueType)? {
        if !hasRelationships { return nil }
        let names = name.pathNames
        guard let at = names.firstIndex(where: { $0.hasPrefix("@") }), at > 0,
            entity.slot(of: name) == nil
        else { return nil }
        let type: ValueType
        switch names[at] {
        case "@count": type = .integer
        case "@avg", "@sum", "@min", "@max":
            let path = try path(Array(names[..<at] + names[(at + 1)...]))
            guard let path, path.isToMany, let found = path.type else {
                throw RequestError.wrongType("\(what) \(name) must lead through a to-many relationship to an attribute")
            }
            let isWhole = names[at] != "@avg" || found == .decimal
            type = isWhole ? found : .double
        default: return nil
        }
        // The aggregate is moved to the end of the path, so that only the values are read, and not the objects as
        // dictionaries.
        let path = (names[..<at] + names[(at + 1)...]).map { "#" + $0 } + [names[at]]
        let text = path.joined(separator: ".") + (names[at] == "@count" ? "" : ".self")
        return (try CompiledExpression(text, of: type, resolving: resolve), type)
    }

    /// The slot of a path of to-one relationships. The slot's value is the key of the object at the path's end. Throws
    /// for other paths.
    func requireReference(_ path: String, for what: String) throws -> Int {
        let names = path.pathNames
        guard let related = try? self.path(names), !related.isToMany, related.ends == nil, !related.givesKeys,
            !related.givesEntities
        else {
            throw RequestError.wrongType("\(what) needs a to-one relationship, but \(entity.name).\(path) is not one")
        }
        return try resolve(related, names).slot
    }

    /// Adds to `listed` the paths of the values that are read from the objects at the end of a path.
    private func list(_ names: [String], depth: Int) throws {
        guard let path = try path(names), !path.steps.isEmpty else { return }
        let entity = model.entities[path.destination]
        for name in usedNames.sorted() {
            if entity.relationship(named: name) != nil {
                guard depth < Self.greatestDepth else {
                    throw FetchPredicateError.typeMismatch(
                        "\((names + [name]).joined(separator: ".")) leads through too many relationships")
                }
                if let further = try self.path(names + [name]) { listed.append(further) }
                // The depth is limited, because names used elsewhere in the predicate may form an endless path.
                if depth + 1 < Self.greatestDepth { try list(names + [name], depth: depth + 1) }
            } else if entity.slot(of: name) != nil, let further = try self.path(names + [name]) {
                listed.append(further)
            }
        }
    }
}

extension RelatedPath {
    /// Finds a path of relationships, with or without an attribute at its end, by its dotted name. Throws
    /// `unknownAttribute`, and `RequestError` for an attribute of the entity itself.
    static func named(_ name: String, from entity: Int, in model: Model) throws -> RelatedPath {
        let names = name.pathNames
        guard let path = try following(names, from: entity, in: model), !path.steps.isEmpty else {
            _ = try model.entities[entity].requireSlot(of: name)
            throw RequestError.wrongType(
                "\(model.entities[entity].name).\(name) is an attribute of the entity itself, not of a related object")
        }
        guard path.nameCount == names.count, !path.givesKeys, !path.givesEntities else {
            throw model.entities[entity].unknownAttribute(name)
        }
        return path
    }
}

extension PathTable {
    /// Converts a dotted name to permanent names. Returns nil if the name isn't a path.
    func permanentName(of name: String) -> String? {
        var names = name.pathNames
        // messages.@max.sentAt aggregates the path messages.sentAt.
        if let at = names.firstIndex(where: { $0.hasPrefix("@") }), entity.slot(of: name) == nil {
            let function = names.remove(at: at)
            guard let path = try? path(names), path.steps.count == at else { return nil }
            var permanent = path.permanentNames
            permanent.insert(function, at: at)
            return permanent.joined(separator: ".")
        }
        if let slot = slots[names] { return paths[slot - Self.firstSlot].permanentNames.joined(separator: ".") }
        guard entity.slot(of: name) == nil, let path = try? path(names) else { return nil }
        let key = path.givesKeys && !path.steps.isEmpty ? [RelatedPath.keyName] : []
        return (path.permanentNames + key).joined(separator: ".")
    }
}
