internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

// The states of unsaved edits, and the transitions between them:
//
//     transition  before                              after                       result
//     edit        any                             ->  unsaved, unprocessed        if restored: unprocessed alone
//     process     unprocessed                     ->  reported                    changes since the last report
//     save        unsaved, unprocessed            ->  reported, if it was before  new objects get permanent keys
//     advance     reported, over the old state    ->  unsaved ones are reported,  changes from one to the other
//                                                     over the new state
//     roll back   unsaved, unprocessed, reported  ->  none                        changes back to the saved records
//     undo        is an edit
//
/// The unsaved edits of a context: the objects that have edits, and the records that were reported to controllers and
/// fetches.
///
/// Objects with edits are identified by their keys and aren't retained. An object that leaves the context is retained
/// until its removal was delivered. The caller passes records in, because this type doesn't access the store.
struct UnsavedEdits<Object: AnyObject> {
    /// The objects with unsaved values, including inserted and deleted objects.
    private(set) var unsaved: Set<RecordKey> = []
    /// The objects that were edited since the last report or save.
    private var unprocessed: Set<RecordKey> = []
    /// The unsaved records that controllers and fetches have seen; nil for a deleted object.
    private(set) var reported: [RecordKey: [UInt8]?] = [:]
    /// The temporary keys of objects, by the permanent keys that the last save gave them.
    private var renumbered: [RecordKey: RecordKey] = [:]
    private var leaving: [RecordKey: Object] = [:]
    /// The last records of objects that leave the context while it has no instance of them. If listeners ask for such
    /// an object while its removal is delivered, the instance is made from the record.
    private var leavingRecords: [RecordKey: [UInt8]] = [:]

    var hasUnprocessed: Bool { !unprocessed.isEmpty }

    // MARK: Edit

    /// Records an edit of an object. Returns whether it's the object's first edit since the last report or save.
    @discardableResult
    mutating func edit(_ key: RecordKey, isUnsaved: Bool) -> Bool {
        setUnsaved(key, isUnsaved)
        return unprocessed.insert(key).inserted
    }

    mutating func setUnsaved(_ key: RecordKey, _ isUnsaved: Bool) {
        if isUnsaved { unsaved.insert(key) } else { unsaved.remove(key) }
    }

    /// Whether the object with a key has edits that aren't saved or aren't reported yet.
    func need(_ key: RecordKey) -> Bool { unsaved.contains(key) || unprocessed.contains(key) }

    // MARK: Process

    /// Returns the objects that were edited since the last report or save, sorted, and resets the list.
    mutating func takeUnprocessed() -> [RecordKey] {
        defer { unprocessed = [] }
        return unprocessed.sorted()
    }

    /// Records the record with which controllers and fetches now see an object; nil if they see it as deleted. Returns
    /// the change since the last report, if any.
    mutating func report(_ key: RecordKey, _ record: [UInt8]?, over saved: [UInt8]?) -> RecordChange? {
        let old = self.record(of: key, saved: saved)
        if record == saved { reported[key] = nil } else { reported.updateValue(record, forKey: key) }
        return old == record ? nil : RecordChange(object: key, old: old, new: record)
    }

    /// An object's record as controllers last saw it.
    func record(of key: RecordKey, saved: @autoclosure () -> [UInt8]?) -> [UInt8]? {
        if let record = reported[key] { record } else { saved() }
    }

    /// The changes from the saved records, which `saved` returns, to the reported ones.
    func changes(saved: (RecordKey) -> [UInt8]?) -> [RecordChange] {
        reported.map { RecordChange(object: $0.key, old: saved($0.key), new: $0.value) }
    }

    // MARK: Save, merge, roll back

    /// Records that a save wrote objects, and gave permanent keys to new ones.
    mutating func save(_ keys: [RecordKey], renumbered ids: [RecordKey: RecordKey]) {
        renumbered = ids
        // A save usually writes all unsaved objects.
        if keys.count == unsaved.count { unsaved = [] } else { unsaved.subtract(keys) }
        if !keys.isEmpty { unprocessed = [] }
    }

    /// Replaces temporary keys by permanent ones in the references of reported records, like the save did in the stored
    /// records.
    mutating func renumberReported(_ renumbered: (RecordKey, [UInt8]) -> [UInt8]) {
        for (key, record) in reported {
            if let record { reported[key] = .some(renumbered(key, record)) }
        }
    }

    /// Bases the edits on a newer state, to which the committed changes lead. Returns the changes for live orders.
    /// `saved` returns an object's record in that state; `current` returns it with the object's unsaved values.
    /// O(committed changes + edited objects), besides at most two calls of `saved` and one of `current` for each edited
    /// object.
    mutating func advance(
        _ committed: [RecordChange], saved: (RecordKey) -> [UInt8]?, current: (RecordKey, [UInt8]?) -> [UInt8]?
    ) -> LiveOrder.Step {
        let known = reported
        reported = [:]
        let unsaved = unsaved.compactMap { key in
            let record = saved(key)
            return report(key, current(key, record), over: record)
        }
        if known.isEmpty && unsaved.isEmpty { return LiveOrder.Step(committed: committed) }

        var net: [RecordKey: RecordChange] = [:]
        for change in committed {
            let oldKey = renumbered[change.object] ?? change.object
            let old = if let record = known[oldKey] { record } else { change.old }
            let new = record(of: change.object, saved: change.new)
            // An object that was reported under its temporary key keeps its row, under the permanent key.
            net[change.object] = RecordChange(
                object: change.object, oldObject: old == nil ? nil : oldKey, old: old, new: new)
        }
        let settled = Set(renumbered.values)
        for (key, old) in known where net[key] == nil && !settled.contains(key) {
            let new = record(of: key, saved: saved(key))
            if old != new { net[key] = RecordChange(object: key, old: old, new: new) }
        }
        for change in unsaved where net[change.object] == nil && known[change.object] == nil {
            net[change.object] = change
        }
        let changes = net.values.filter { $0.old != $0.new || $0.object != $0.oldObject }
        return LiveOrder.Step(committed: committed, unsaved: unsaved, net: changes)
    }

    /// The permanent keys that the last save assigned, by the temporary ones.
    var permanentKeys: [RecordKey: RecordKey] {
        Dictionary(renumbered.map { ($0.value, $0.key) }) { first, _ in first }
    }

    /// Discards all edits. Returns the changes from the reported records back to the saved ones.
    mutating func rollBack(saved: (RecordKey) -> [UInt8]?) -> [RecordChange] {
        defer { (unsaved, unprocessed, reported) = ([], [], [:]) }
        return changes(saved: saved).map(\.reversed)
    }

    // MARK: Leave

    mutating func leave(_ key: RecordKey, _ object: Object) { leaving[key] = object }

    mutating func leave(_ key: RecordKey, record: [UInt8]) { leavingRecords[key] = record }

    func leavingObject(_ key: RecordKey) -> Object? { leaving[key] }

    func leavingRecord(_ key: RecordKey) -> [UInt8]? { leavingRecords[key] }

    /// Releases the objects that have left the context, when their removal was delivered.
    mutating func didDeliver() { (leaving, leavingRecords) = ([:], [:]) }
}
