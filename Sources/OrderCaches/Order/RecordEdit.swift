package import Records

/// What became of one object's record between two states; nil where the object is not there.
package struct RecordEdit: Sendable {
    package let object: RecordKey
    /// The object's id before: another one when it was not saved yet. Its row is the same.
    package let oldObject: RecordKey
    package let old: [UInt8]?
    package let new: [UInt8]?

    package init(object: RecordKey, oldObject: RecordKey? = nil, old: [UInt8]?, new: [UInt8]?) {
        self.object = object
        self.oldObject = oldObject ?? object
        self.old = old
        self.new = new
    }

    package init(_ change: NetChange) { self.init(object: change.object, old: change.old, new: change.new) }

    /// The way back.
    package var reversed: RecordEdit { RecordEdit(object: oldObject, oldObject: object, old: new, new: old) }
}

extension RowPlacer {
    /// The rows that edits of an entity's records take and give; edits of no member are left out.
    func rowEdits(_ edits: [RecordEdit], of entity: Int) throws -> [RowEdit] {
        var placement = RowPlacement()
        var rows: [RowEdit] = []
        rows.reserveCapacity(edits.count)
        for edit in edits where edit.object.entity == entity {
            let old = try key(of: edit.oldObject, edit.old, &placement)
            let new = try key(of: edit.object, edit.new, &placement)
            if old == nil && new == nil { continue }
            rows.append(
                RowEdit(object: edit.object, old: old, new: new, isUpdated: edit.old != edit.new))
        }
        return rows
    }
}
