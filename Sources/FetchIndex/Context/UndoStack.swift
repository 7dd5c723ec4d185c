internal import FetchIndexRecords
internal import FetchIndexModels
/// The edits of a context that can be undone. The edits between two processings or saves form a group.
struct UndoStack {
    /// The state of an object before or after an edit.
    struct Memento {
        let status: ManagedObject.Status
        let base: [UInt8]?
        let changes: [Int: Value]
        let givenSlots: Set<Int>

        init(_ object: ManagedObject) {
            status = object.status
            base = object.savedRecord()
            changes = object.changes
            givenSlots = object.givenSlots
        }

        /// All values by slot; nil if the object was deleted or had left the context.
        func values(of object: ManagedObject) -> [Value]? {
            switch status {
            case .deleted, .gone: return nil
            case .inserted, .saved:
                let entity = object.entity
                let saved = base.flatMap { base in try? entity.valuesBySlot(of: base.span.bytes) }
                return entity.slots.indices.map { slot in
                    changes[slot] ?? saved?[slot] ?? (base == nil ? entity.attribute(at: slot).defaultValue : .null)
                }
            }
        }
    }

    struct Edit {
        let object: ManagedObject
        /// The values by slot before the edit; nil if the edit inserted the object, or if the object was deleted.
        let before: [Value]?
        /// The values by slot after the edit; nil if the object was then deleted.
        let after: [Value]?
        /// The slots that had been set on a new object before the edit.
        let givenBefore: Set<Int>
        /// The slots that have been set on a new object after the edit.
        let givenAfter: Set<Int>

        func renumbered(_ keys: [RecordKey: RecordKey]) -> Edit {
            Edit(
                object: object, before: before.map { object.entity.values($0, with: keys) },
                after: after.map { object.entity.values($0, with: keys) }, givenBefore: givenBefore,
                givenAfter: givenAfter)
        }
    }

    /// Whether edits are being recorded.
    var isEnabled = false
    private(set) var undoGroups: [[Edit]] = []
    private(set) var redoGroups: [[Edit]] = []
    private var open: [ObjectIdentifier: (object: ManagedObject, before: Memento?)] = [:]
    private var order: [ObjectIdentifier] = []
    /// Whether an undo or redo is editing objects.
    var isReplaying = false

    /// Records the state of an object before its first edit in the group. For an insertion, that state is nil.
    mutating func willChange(_ object: ManagedObject, isInsertion: Bool = false) {
        guard isEnabled, !isReplaying, open[ObjectIdentifier(object)] == nil else { return }
        open[ObjectIdentifier(object)] = (object, isInsertion ? nil : Memento(object))
        order.append(ObjectIdentifier(object))
    }

    mutating func closeGroup() {
        guard !open.isEmpty else { return }
        let edits = order.compactMap { key in
            open[key].map { entry in
                Edit(
                    object: entry.object, before: entry.before?.values(of: entry.object),
                    after: Memento(entry.object).values(of: entry.object),
                    givenBefore: entry.before?.givenSlots ?? [], givenAfter: entry.object.givenSlots)
            }
        }
        open = [:]
        order = []
        undoGroups.append(edits)
        redoGroups = []
    }

    mutating func popUndo() -> [Edit]? {
        guard let group = undoGroups.popLast() else { return nil }
        redoGroups.append(group)
        return group
    }

    mutating func popRedo() -> [Edit]? {
        guard let group = redoGroups.popLast() else { return nil }
        undoGroups.append(group)
        return group
    }

    /// Replaces old keys by new ones in the references of the recorded groups. `keys` has the new keys by the old ones.
    mutating func renumber(_ keys: [RecordKey: RecordKey]) {
        guard !keys.isEmpty, isEnabled else { return }
        undoGroups = undoGroups.map { $0.map { $0.renumbered(keys) } }
        redoGroups = redoGroups.map { $0.map { $0.renumbered(keys) } }
    }

    mutating func removeAll() {
        undoGroups = []
        redoGroups = []
        open = [:]
        order = []
    }
}

extension ManagedObjectContext {
    /// Whether edits are recorded for undo. False by default. If true, the context retains edited objects even after a
    /// save, until the recorded edits are discarded.
    public var isUndoEnabled: Bool {
        get { undoStack.isEnabled }
        set {
            core.isUndoEnabled = newValue
            undoStack.isEnabled = newValue
            if !newValue { undoStack.removeAll() }
        }
    }

    /// Reverts the last group of edits, saved or not. A group consists of the edits between two processings of changes
    /// or saves. Returns false if no edit can be undone.
    @discardableResult
    public func undo() -> Bool {
        processPendingChanges()
        guard let group = undoStack.popUndo() else { return false }
        replay(group.reversed().map { ($0.object, $0.after, $0.before, $0.givenBefore) })
        return true
    }

    /// Repeats the edits of the last undo that wasn't repeated yet. Returns false if no edit can be redone.
    @discardableResult
    public func redo() -> Bool {
        processPendingChanges()
        guard let group = undoStack.popRedo() else { return false }
        replay(group.map { ($0.object, $0.before, $0.after, $0.givenAfter) })
        return true
    }

    /// Changes objects from one recorded state to another. Sets only values that differ between the two states, or all
    /// values of restored objects. Objects that were deleted later stay deleted.
    private func replay(_ states: [(object: ManagedObject, from: [Value]?, to: [Value]?, given: Set<Int>)]) {
        undoStack.isReplaying = true
        // Objects that have left the context are inserted again with new keys, which replace the old keys in recorded
        // references.
        var restored: Set<ObjectIdentifier> = []
        var keys: [RecordKey: RecordKey] = [:]
        for (object, from, to, _) in states where from == nil && to != nil {
            let key = object.key
            if restore(object) { restored.insert(ObjectIdentifier(object)) }
            if object.key != key { keys[key] = object.key }
        }
        undoStack.renumber(keys)
        for (object, from, to, given) in states {
            let (from, to) = (
                from.map { object.entity.values($0, with: keys) }, to.map { object.entity.values($0, with: keys) }
            )
            defer { if object.status.isInserted { object.givenSlots = given } }
            switch (from, to) {
            // Delete rules aren't applied, because their effects on related objects are recorded as edits, too.
            case (_, nil): deleteAlone(object)
            case (nil, let values?):
                guard restored.contains(ObjectIdentifier(object)) else { continue }
                for slot in object.entity.attributeSlots + object.entity.relationshipSlots {
                    object.setValue(values[slot], at: slot)
                }
            case (let old?, let new?):
                // The object has left the context, for example because another context or process deleted it.
                if object.core !== core { continue }
                for slot in new.indices where old[slot] != new[slot] {
                    object.setValue(new[slot], at: slot)
                }
            }
        }
        undoStack.isReplaying = false
        processPendingChanges()
    }

    /// Restores a deleted object in the context. If the object has left the context, inserts it again. Returns false if
    /// that is impossible, for example because the entity was dropped.
    private func restore(_ object: ManagedObject) -> Bool {
        switch object.status {
        case .inserted, .saved: return object.core === core
        case .deleted(let wasSaved): object.status = wasSaved ? .saved : .inserted
        case .gone:
            guard let entity = try? model.number(of: object.entity.name),
                object.entity.isReadable(with: model.entities[entity])
            else { return false }
            object.status = .inserted
            object.base = nil
            object.changes = [:]
            object.core = core
            register(object, as: container.temporaryKey(entity))
        }
        object.noteChangeOfAll()
        didChange(object)
        return true
    }
}
