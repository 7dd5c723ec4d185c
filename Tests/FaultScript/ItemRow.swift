package import FetchIndex

/// An object of the script's one entity, by value.
package struct ItemRow: Equatable, Sendable {
    package var group: String?
    package var size: Int64
    package var note: String

    package init(group: String?, size: Int64, note: String) {
        self.group = group
        self.size = size
        self.note = note
    }

    package static let entity = "Item"

    package static let model = Model(entities: [
        Entity(
            entity,
            [
                AttributeDescription("key", .string, isOptional: false, isUnique: true),
                AttributeDescription("group", .string), AttributeDescription("size", .integer),
                AttributeDescription("note", .string),
            ])
    ])

    /// In the order of the entity's attributes.
    package func values(key: String) -> [Value] {
        [.string(key), group.map(Value.string) ?? .null, .integer(size), .string(note)]
    }

    /// The key and the row of stored values; nil when they are none of a row's.
    package static func decoded(_ values: [Value]) -> (key: String, row: ItemRow)? {
        guard values.count == 4, case .string(let key) = values[0], case .integer(let size) = values[2],
            case .string(let note) = values[3]
        else { return nil }
        var group: String?
        if case .string(let text) = values[1] { group = text }
        return (key, ItemRow(group: group, size: size, note: note))
    }
}
