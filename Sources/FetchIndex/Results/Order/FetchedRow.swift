public import FetchIndexModels
internal import FetchIndexRecords
public import FetchIndexValues

/// A row of a fetched order: the object's id, the row's path, and the object's values, which are decoded on demand.
public struct FetchedRow: ~Escapable {
    public let id: ObjectID
    public let path: RowPath
    /// The entity of the row's object: the requested entity, or a subentity.
    public let entity: Entity
    /// The slots that the requested entity's attributes have in the record.
    let slots: [Int]
    let record: RecordView
    let bytes: RawSpan
    /// The state from which key paths read the records of related objects.
    let state: any RecordState

    @_lifetime(copy record, copy bytes)
    init(
        id: ObjectID, path: RowPath, entity: Entity, slots: [Int], record: RecordView, bytes: RawSpan,
        _ state: any RecordState
    ) {
        self.id = id
        self.path = path
        self.entity = entity
        self.slots = slots
        self.record = record
        self.bytes = bytes
        self.state = state
    }

    /// The value of an attribute. O(length of the value). Throws `StoreError.unknownAttribute` and
    /// `StoreError.corrupted`.
    public func value(of attribute: String) throws -> Value {
        try withPublicErrors { try value(ofSlot: entity.requireSlot(of: attribute)) }
    }

    /// The value of the attribute at an index in the requested entity's `attributes`. Traps if the index is out of
    /// bounds. Throws `StoreError.corrupted`.
    public func value(at index: Int) throws -> Value {
        try withPublicErrors { try value(ofSlot: slots[index]) }
    }

    func value(ofSlot slot: Int) throws -> Value {
        try record.value(at: slot, as: entity.type(at: slot))
    }
}
