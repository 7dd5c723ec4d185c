internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// The unsaved edits of a context: the objects that have them, and the records that were reported to controllers and
/// fetches.
///
/// ```
/// edit        an object gets unsaved values      ->  unsaved, unprocessed
/// process     unprocessed                        ->  reported        the changes since the last report
/// save        unsaved                            ->  none            temporary ids -> permanent ids: renumbered
/// advance     reported, over the old state       ->  reported, over the new state    the changes from one to the other
/// roll back   unsaved, unprocessed, reported     ->  none            the way back
/// undo        is an edit
/// ```
///
/// Objects with edits are identified by their keys, and are not retained; an object that leaves the context is retained
/// until its removal is delivered. The caller passes records in: this type doesn't access the store.
struct UnsavedEdits<Object: AnyObject> {
    /// The objects with unsaved values, and those that are inserted or deleted.
    private(set) var unsaved: Set<RecordKey> = []
    /// The objects that were edited since the last report.
    private var unprocessed: Set<RecordKey> = []
    /// The unsaved records that controllers and fetches know; nil if the object is deleted.
    private(set) var reported: [RecordKey: [UInt8]?] = [:]
    /// The temporary ids of objects by the permanent ids that the last save gave them.
    private var renumbered: [RecordKey: RecordKey] = [:]
    private var leaving: [RecordKey: Object] = [:]
    /// The last records of leaving objects that aren't instantiated.
    private var leavingRecords: [RecordKey: [UInt8]] = [:]

    var hasUnprocessed: Bool { !unprocessed.isEmpty }

    // MARK: Edit

    /// Notes an edit. Returns whether it is the object's first one since the last report.
    @discardableResult
    mutating func edit(_ key: RecordKey, isUnsaved: Bool) -> Bool {
        setUnsaved(key, isUnsaved)
        return unprocessed.insert(key).inserted
    }

    mutating func setUnsaved(_ key: RecordKey, _ isUnsaved: Bool) {
        if isUnsaved { unsaved.insert(key) } else { unsaved.remove(key) }
    }

    /// Whether an object has edits that aren't saved or reported yet.
    func need(_ key: RecordKey) -> Bool { unsaved.contains(key) || unprocessed.contains(key) }

    // MARK: Process

    /// The objects that were edited since the last report, sorted.
    mutating func takeUnprocessed() -> [RecordKey] {
        defer { unprocessed = [] }
        return unprocessed.sorted()
    }

    /// Reports an object's record over the saved one. Returns the change since the last report.
    mutating func report(_ key: RecordKey, _ record: [UInt8]?, over saved: [UInt8]?) -> RecordChange? {
        let old = self.record(of: key, saved: saved)
        if record == saved { reported[key] = nil } else { reported.updateValue(record, forKey: key) }
        return old == record ? nil : RecordChange(object: key, old: old, new: record)
    }

    /// The record of an object as last reported.
    func record(of key: RecordKey, saved: @autoclosure () -> [UInt8]?) -> [UInt8]? {
        if let record = reported[key] { record } else { saved() }
    }

    /// The changes from the saved records to the reported ones.
    func changes(saved: (RecordKey) -> [UInt8]?) -> [RecordChange] {
        reported.map { RecordChange(object: $0.key, old: saved($0.key), new: $0.value) }
    }

    // MARK: Save, merge, roll back

    /// Notes that a save wrote objects, and gave permanent ids to new ones.
    mutating func save(_ keys: [RecordKey], renumbered ids: [RecordKey: RecordKey]) {
        renumbered = ids
        // A save writes all unsaved objects.
        if keys.count == unsaved.count { unsaved = [] } else { unsaved.subtract(keys) }
        if !keys.isEmpty { unprocessed = [] }
    }

    /// Replaces temporary ids in the reported records by permanent ones, as in the saved records.
    mutating func renumberReported(_ renumbered: (RecordKey, [UInt8]) -> [UInt8]) {
        for (key, record) in reported {
            if let record { reported[key] = .some(renumbered(key, record)) }
        }
    }

    /// Takes the edits to a newer state, to which the committed changes lead. `saved` returns records of that state,
    /// `current` an unsaved object's record with its values. O(changes + unsaved objects).
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
            // An object that was reported before keeps its row, under its new id.
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

    /// The permanent ids that the last save gave, by the temporary ones.
    var permanentKeys: [RecordKey: RecordKey] {
        Dictionary(renumbered.map { ($0.value, $0.key) }) { first, _ in first }
    }

    /// Drops all edits. Returns the changes from the reported records back to the saved ones.
    mutating func rollBack(saved: (RecordKey) -> [UInt8]?) -> [RecordChange] {
        defer { (unsaved, unprocessed, reported) = ([], [], [:]) }
        return changes(saved: saved).map(\.reversed)
    }

    // MARK: Leave

    mutating func leave(_ key: RecordKey, _ object: Object) { leaving[key] = object }

    mutating func leave(_ key: RecordKey, record: [UInt8]) { leavingRecords[key] = record }

    func leavingObject(_ key: RecordKey) -> Object? { leaving[key] }

    func leavingRecord(_ key: RecordKey) -> [UInt8]? { leavingRecords[key] }

    /// Releases the objects whose removal was delivered.
    mutating func didDeliver() { (leaving, leavingRecords) = ([:], [:]) }
}
