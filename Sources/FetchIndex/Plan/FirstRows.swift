internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexValues

/// The rows that a sorted fetch with a limit wants.
struct FirstRows {
    let keys: [IndexKey]
    let most: Int
    /// The unsaved edits. Their objects are placed separately, so a walk leaves them out.
    let edits: [RecordKey: [UInt8]?]

    /// Returns nil if a fetch with this definition wants all rows, has sections or aggregates, or isn't sorted by values
    /// of the record itself, compared by bytes.
    init?(_ definition: OrderDefinition, most: Int, _ entity: Entity, besides edits: [RecordKey: [UInt8]?]) {
        let keys: [IndexKey] = definition.sortKeys.compactMap { key in
            guard key.textOrder == .binary, let slot = entity.slot(of: key.attribute) else { return nil }
            return IndexKey(slot: slot, isDescending: key.direction == .descending)
        }
        guard most > 0, most < .max, !keys.isEmpty, keys.count == definition.sortKeys.count,
            definition.sectionKey == nil, definition.aggregates.isEmpty
        else { return nil }
        (self.keys, self.most, self.edits) = (keys, most, edits)
    }
}
