package import FetchIndexEssentials
internal import FetchIndex
package import FetchIndexModels
internal import FetchIndexPredicates
internal import FetchIndexValues

/// A model as JSON.
package struct ModelFile: Codable {
    package struct StoredAttribute: Codable {
        let name: String
        let type: String
        var isOptional: Bool?
        var isUnique: Bool?
        var defaultValue: String?
        var renamedFrom: String?
        var derivation: String?
    }

    package struct StoredEntity: Codable {
        let name: String
        var renamedFrom: String?
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

    package struct StoredRequest: Codable {
        let name: String
        let entity: String
        var predicate: String?
        var fetchLimit: Int?
    }

    package let entities: [StoredEntity]
    /// The entities that the store is to drop.
    var removed: [String]?
    var requests: [StoredRequest]?
    /// The names of requests that the store is to forget.
    var removedRequests: [String]?

    package init(_ model: Model) {
        entities = model.entities.map { entity in
            StoredEntity(
                name: entity.name, renamedFrom: entity.renamedFrom, superentity: entity.superentity,
                isAbstract: entity.isAbstract ? true : nil,
                attributes: entity.attributes.map { attribute in
                    StoredAttribute(
                        name: attribute.name, type: attribute.type.name, isOptional: attribute.isOptional,
                        isUnique: attribute.isUnique,
                        defaultValue: attribute.defaultValue.isNull ? nil : attribute.defaultValue.description,
                        renamedFrom: attribute.renamedFrom, derivation: attribute.derivation)
                },
                relationships: entity.relationships.isEmpty ? nil : entity.relationships.map { RelationshipFile($0) },
                unique: entity.uniqueAttributes.isEmpty ? nil : entity.uniqueAttributes,
                indexes: entity.indexes.isEmpty ? nil : entity.indexes.map(\.text))
        }
        if model.requests.isEmpty { return }
        requests = model.requests.map { request in
            StoredRequest(
                name: request.name, entity: request.entity,
                predicate: request.predicate.isEmpty ? nil : request.predicate,
                fetchLimit: request.fetchLimit == 0 ? nil : request.fetchLimit)
        }
    }

    /// Reads a model from a file. Throws an error of one sentence if the file can't be read or isn't a model.
    package static func read(_ path: String) throws -> Model {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw MalformedModel("\(path) cannot be read")
        }
        return try model(inJSON: data, of: path)
    }

    /// Decodes a model; `path` is the name of the file in messages. Throws like `read`.
    package static func model(inJSON data: Data, of path: String) throws -> Model {
        let file: ModelFile
        do { file = try JSONDecoder().decode(ModelFile.self, from: data) } catch {
            throw MalformedModel("\(path) is not a model in the form that `model show --output json` prints")
        }
        return try file.model(of: path)
    }

    /// The model; `path` is the name of its file in messages. Throws an error of one sentence if a name or a value is
    /// unknown.
    func model(of path: String) throws -> Model {
        var model = Model(
            entities: try entities.map { entity in
                let attributes = try entity.attributes.map { try Self.attribute($0, of: entity.name, path) }
                return Entity(
                    entity.name, attributes,
                    relationships: try (entity.relationships ?? []).map { try $0.relationship(of: entity.name, path) },
                    unique: entity.unique ?? [],
                    indexes: try (entity.indexes ?? []).map { try Index(parsing: $0) }, removed: entity.removed ?? [],
                    removedIndexes: try (entity.removedIndexes ?? []).map { try Index(parsing: $0) },
                    superentity: entity.superentity, isAbstract: entity.isAbstract ?? false,
                    renamedFrom: entity.renamedFrom)
            }, removed: removed ?? [], requests: try (requests ?? []).map { try Self.request($0, path) })
        model.removedRequests = removedRequests ?? []
        return model
    }

    private static func request(_ stored: StoredRequest, _ path: String) throws -> NamedRequest {
        if let limit = stored.fetchLimit, limit < 0 {
            throw MalformedModel("\(path): the fetch limit of the request \(stored.name) is negative")
        }
        do {
            let predicate = try stored.predicate.map { try FetchPredicate(format: $0, argumentArray: []) }
            return NamedRequest(
                stored.name, entity: stored.entity, predicate: predicate, fetchLimit: stored.fetchLimit ?? 0)
        } catch { throw MalformedModel("\(path): the predicate of the request \(stored.name): \(error)") }
    }

    private static func attribute(
        _ stored: StoredAttribute, of entity: String, _ path: String
    ) throws -> AttributeDescription {
        guard let type = ValueType(name: stored.type) else {
            throw MalformedModel("\(path): \(entity).\(stored.name) has the unknown type \"\(stored.type)\"")
        }
        let value = try stored.defaultValue.map { text in
            guard let value = Value(text, as: type) else {
                throw MalformedModel(
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
    package init(parsing text: String) throws {
        let keys = try SortKey<ManagedObject>.list(parsing: text)
        if let key = keys.first(where: { $0.textOrder != .binary }) {
            throw MalformedModel("an index cannot have a text order, but \"\(key)\" has one")
        }
        self.init(keys: keys.map { Key($0.attribute, isDescending: $0.direction == .descending) })
    }

    package var text: String {
        keys.map { SortKey<ManagedObject>($0.attribute, $0.isDescending ? .descending : .ascending).description }
            .joined(separator: ",")
    }
}

/// What is wrong with a model in JSON, in one sentence.
package struct MalformedModel: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
