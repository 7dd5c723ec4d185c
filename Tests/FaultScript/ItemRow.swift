package import FetchIndex

/// The values of an object of the script's entities.
package struct ItemRow: Equatable, Sendable {
    package var group: String?
    package var size: Int64
    package var note: String
    /// The key of the row that this row follows.
    package var leader: String?
    /// The keys of the rows that this row likes.
    package var likes: Set<String> = []

    package init(group: String?, size: Int64, note: String) {
        self.group = group
        self.size = size
        self.note = note
    }

    package static let entity = "Item"
    /// The entity of the rows whose keys begin with `subentityPrefix`.
    package static let subentity = "Special"
    package static let subentityPrefix = "s"

    package static func entity(of key: String) -> String { key.hasPrefix(subentityPrefix) ? subentity : entity }

    package static let model = model(factor: 2)

    /// The attribute `weight` is derived with the factor, so a change of the factor rewrites all records.
    package static func model(factor: Int64) -> Model {
        Model(entities: [
            Entity(
                entity,
                [
                    AttributeDescription("key", .string, isOptional: false, isUnique: true),
                    AttributeDescription("group", .string), AttributeDescription("size", .integer),
                    AttributeDescription("note", .string),
                    AttributeDescription("weight", .integer, derivation: "size * \(factor)"),
                ],
                relationships: [
                    RelationshipDescription("leader", toOne: entity, inverse: "followers"),
                    RelationshipDescription("followers", toMany: entity, inverse: "leader"),
                    RelationshipDescription("likes", toMany: entity, inverse: "likedBy", ordered: true),
                    RelationshipDescription("likedBy", toMany: entity, inverse: "likes"),
                ], indexes: [Index(["group", "size:desc"]), Index(["weight"])]),
            Entity(
                subentity, [AttributeDescription("extra", .string)], indexes: [Index(["size"])], superentity: entity),
        ])
    }

    /// The factor by which a stored model derives `weight`; nil if the model doesn't derive it.
    package static func factor(of model: Model) -> Int64? {
        let attribute = model.entity(named: entity)?.attributes.first { $0.name == "weight" }
        return attribute?.derivation.flatMap { Int64($0.dropFirst("size * ".count)) }
    }

    /// The values in the order of the attributes of `entity`, without the derived one.
    package func values(key: String) -> [Value] {
        [.string(key), group.map(Value.string) ?? .null, .integer(size), .string(note)]
    }

    /// The key and the row, without links, from an object's stored values; nil if they aren't the values of a row.
    package static func decoded(_ values: [Value], of entity: Entity, factor: Int64) -> (key: String, row: ItemRow)? {
        let named = Dictionary(uniqueKeysWithValues: zip(entity.attributes.map(\.name), values))
        guard case .string(let key) = named["key"], case .integer(let size) = named["size"],
            case .string(let note) = named["note"], named["weight"] == .integer(size * factor),
            self.entity(of: key) == entity.name
        else { return nil }
        var group: String?
        if case .string(let text) = named["group"] { group = text }
        return (key, ItemRow(group: group, size: size, note: note))
    }
}
