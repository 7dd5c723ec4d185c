internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexRecords

/// The old and the new row of an object in an order. A row is nil if the object has none in that state.
///
///     RecordChange (object, old record, new record)      from the log, or from unsaved edits
///       | OrderBuilder.edits, with a RowPlacer
///     RowChange (object, old row key, new row key)       -> SectionedOrder.update, OrderDiff
///       | OrderDiff.change
///     OrderChange (events with positions)                -> delegates, streams
struct RowChange {
    let object: RecordKey
    let old: RowKey?
    let new: RowKey?
    /// Whether the row has the same key before and after.
    let keepsKey: Bool
    /// Whether the row's key or its summary changes. If neither changes, the row changes no tree.
    let changesOrder: Bool
    /// For a row that stays, whether the record or an observed value changed. If not, the row is reported only if it
    /// moves.
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

/// The states of records before and after changes, for orders that read or observe records of other objects. In both
/// states, objects have the keys that they have after the changes.
package struct StateChange {
    package let old: any RecordState
    package let new: any RecordState

    package init(from old: any RecordState, to new: any RecordState) { (self.old, self.new) = (old, new) }
}

/// Thrown if a rebuild probably costs less than placing the rows that depend on changed objects one by one.
struct TooManyDependents: Error {}

extension OrderBuilder {
    /// Computes the changes of rows and headings that result from changes of records. Leaves out objects that aren't
    /// members in either state. If the order reads records of other objects, reads these records in `states`, and also
    /// places the rows from which a path leads through a changed object: such rows may change although their own
    /// records don't. Throws `TooManyDependents` if such paths begin at more than `dependentLimit` objects.
    /// O(changes) without paths, headings and observed paths; with them, O(log n) for each change, each object on
    /// the way of a path, and each dependent row.
    ///
    /// Rows from which an observed path leads through a changed object count as updated.
    func edits(
        _ changes: [RecordChange], _ states: StateChange?, observing observed: [RelatedPath] = [],
        dependentLimit: Int = .max
    ) throws -> OrderEdits {
        var edits = OrderEdits(try rowChanges(changes, hasPaths ? states : nil))
        if let states, hasPaths || !observed.isEmpty {
            edits.rows += try dependentRows(of: changes, states, observed, dependentLimit)
        }
        if let headings, let states { try headings.addHeadings(to: &edits, changes, states) }
        return edits
    }

    private func rowChanges(_ changes: [RecordChange], _ states: StateChange?) throws -> [RowChange] {
        var placement = placement
        var rows: [RowChange] = []
        rows.reserveCapacity(changes.count)
        for change in changes {
            guard let placer = try placer(of: change.object.entity) else { continue }
            let old = try placer.key(
                of: states == nil ? change.oldObject : change.object, change.old, in: states?.old, &placement,
                as: change.oldObject)
            let new = try placer.key(of: change.object, change.new, in: states?.new, &placement)
            if old == nil && new == nil { continue }
            rows.append(RowChange(object: change.object, old: old, new: new, isUpdated: change.old != change.new))
        }
        return rows
    }

    private func dependentRows(
        of changes: [RecordChange], _ states: StateChange, _ observed: [RelatedPath], _ limit: Int
    ) throws -> [RowChange] {
        var placement = placement
        var starts: Set<RecordKey> = []
        var updated: Set<RecordKey> = []
        for change in changes {
            for path in paths { try path.addStarts(through: change, from: states.old, to: states.new, &starts) }
            for path in observed { try path.addStarts(through: change, from: states.old, to: states.new, &updated) }
            if starts.count > limit { throw TooManyDependents() }
        }
        starts.formUnion(updated)
        for change in changes {
            starts.remove(change.object)
            starts.remove(change.oldObject)
        }
        var rows: [RowChange] = []
        for object in starts.sorted() {
            guard let placer = try placer(of: object.entity) else { continue }
            var record: [UInt8]?
            _ = try states.new.record(object) { record = [UInt8](copying: $0) }
            let old = try placer.key(of: object, record, in: states.old, &placement)
            let new = try placer.key(of: object, record, in: states.new, &placement)
            // The object's own record didn't change, so a row that stays is reported only if it moves, or if an
            // observed value changed.
            let row = RowChange(object: object, old: old, new: new, isUpdated: updated.contains(object))
            if row.changesOrder || old != nil && updated.contains(object) { rows.append(row) }
        }
        return rows
    }
}
