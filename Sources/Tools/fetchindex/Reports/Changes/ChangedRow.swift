internal import FetchIndex
internal import FetchIndexModels

/// What is printed of a changed row of an order, or of a changed object.
struct ChangedRow {
    let kind: ChangeKind
    let id: UInt64
    /// The object's first unique value; nil if it's unknown, for example because the entity has no unique attribute.
    private(set) var key: Value?
    /// The name of the object's entity. In the batches of `apply`, nil for objects of the request's own entity.
    let entity: String?
    /// Whether the object's entity is a subentity of the request's entity.
    private(set) var isOfSubentity = false
    /// The attributes whose values `old` and `new` have, in their order.
    private(set) var attributes: Entity?
    /// All values before the change; nil for a new object, or if they aren't known. In the batches of `apply`, only
    /// deleted objects have them.
    private(set) var old: [Value]?
    /// All values after the change; nil in the batches of `apply`, for a deleted object, and if they can't be read.
    private(set) var new: [Value]?
    /// The names of an updated object's relationships that changed; empty for a row of an order.
    private(set) var related: [String] = []
    private(set) var from: RowPath?
    private(set) var to: RowPath?
    /// The name of the section that the row left, or stayed in; null for the section of null. Nil for a new row, if the
    /// order has no sections, and in the batches of `apply`.
    private(set) var fromSectionName: Value?
    /// The name of the section that the row is in after the change; null for the section of null. Nil for a deleted row,
    /// if the order has no sections, and in the batches of `apply`.
    private(set) var toSectionName: Value?

    init(_ change: ObjectChange) {
        (kind, id, key) = (change.kind, change.objectID.number, change.key)
        (entity, attributes) = (change.entity.name, change.entity)
        (old, new) = (change.oldValues, change.newValues)
        if kind == .update { related = change.changedRelationships }
    }

    init(
        _ event: ResultsChange.RowEvent, _ name: ObjectName?, _ details: ChangeDetails, in sections: ChangedSections?
    ) throws {
        let id = event.id
        (kind, self.id) = (event.kind, id.number)
        (key, attributes) = (name?.key, name?.entity)
        (old, new) = (name?.oldValues, name?.newValues)
        isOfSubentity = id.entityName != details.entity
        entity = details.namesEntities || isOfSubentity ? id.entityName : nil
        (from, to) = (event.from, event.to)
        guard let sections else { return }
        func value(_ name: String?) -> Value { name.map(Value.string) ?? .null }
        fromSectionName = try event.from.map { value(try sections.name(ofOld: $0.section)) }
        toSectionName = try event.to.map { value(try sections.name(ofNew: $0.section)) }
    }
}

extension ChangeKind {
    /// The kind in JSON, CSV and lines.
    var word: String {
        switch self {
        case .insert: "insert"
        case .delete: "delete"
        case .move: "move"
        case .update: "update"
        }
    }
}
