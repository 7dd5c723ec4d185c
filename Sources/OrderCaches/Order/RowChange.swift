internal import Models
internal import Records

/// An object's old and new row in an order; nil when it was or is no member.
struct RowChange {
    let object: RecordKey
    let old: RowKey?
    let new: RowKey?
    /// Whether the row's key is unchanged.
    let keepsKey: Bool
    /// Whether the row's place, or what its section sums up, is another.
    let changesOrder: Bool
    /// Whether the record changed; else the row is reported only if it has to move.
    let isUpdated: Bool

    init(object: RecordKey, old: RowKey?, new: RowKey?, isUpdated: Bool = true) {
        self.object = object
        self.old = old
        self.new = new
        self.keepsKey = old == new
        changesOrder = !keepsKey || old?.summary != new?.summary
        self.isUpdated = isUpdated
    }
}

extension OrderBuilder {
    /// The rows that changes of records take and give; changes of no member are left out.
    func rowChanges(_ changes: [RecordChange]) throws -> [RowChange] {
        var placement = placement
        var rows: [RowChange] = []
        rows.reserveCapacity(changes.count)
        for change in changes {
            guard let placer = placer(of: change.object.entity) else { continue }
            let old = try placer.key(of: change.oldObject, change.old, &placement)
            let new = try placer.key(of: change.object, change.new, &placement)
            if old == nil && new == nil { continue }
            rows.append(RowChange(object: change.object, old: old, new: new, isUpdated: change.old != change.new))
        }
        return rows
    }
}
