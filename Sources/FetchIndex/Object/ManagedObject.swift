public import FetchIndexModels
internal import FetchIndexRecords

/// An object of a store in a context: there is one for each id and context.
///
/// Its record is read when an attribute is (until then it is a fault), and each value is decoded when it is asked for.
/// It belongs to its context's isolation domain, like the context, and keeps the context's state: an object can be read,
/// edited and saved also when nobody else keeps the context.
///
/// No value is ever made up. Reading an attribute traps, with a sentence that says why, when there is nothing to be read: a
/// fault that has left its context, an id that no object has, a damaged record, a stored value that is none of the type's. So
/// does setting an attribute of an object that is in no context or not in the store. What came from `fetch`,
/// `existingObject(with:)` and ``value(of:as:)`` has been read, or has thrown. An object that is to be deleted takes no
/// values any more.
///
/// Subclasses declare their attributes with `@Attribute` and have no other stored properties that need an initializer.
open class ManagedObject {
    /// Temporary until the object is saved.
    public internal(set) var objectID: ObjectID {
        get {
            noteReadOfState()
            return currentID
        }
        set { currentID = newValue }
    }
    private var currentID: ObjectID
    /// Nil once the object was deleted and saved, rolled back before it was ever saved, or its context was reset. Where nobody has
    /// kept the context, it is made again, with its edits and settings, but without edits to undo.
    public var managedObjectContext: ManagedObjectContext? { core?.context }
    /// What the object's context is made of; nil once it has left the context.
    var core: ContextCore?
    public let entity: Entity

    enum Status {
        /// Not in the store yet.
        case inserted
        /// In the store, with or without changes.
        case saved
        /// To be deleted by the next save; whether it was saved before.
        case deleted(wasSaved: Bool)
        /// No longer an object of the context.
        case gone

        var isSaved: Bool { if case .saved = self { true } else { false } }
        var isInserted: Bool { if case .inserted = self { true } else { false } }
        var isDeleted: Bool { if case .deleted = self { true } else { false } }
    }

    var key: RecordKey { currentID.key }
    /// Of what observers have read; nil when none was.
    var observers: Observers?
    var status: Status
    /// The record as the context's snapshot has it; nil for a fault and for an object that was never saved.
    var base: [UInt8]?
    /// Whether another context or process deleted it while it has unsaved edits: `base` is its last record then.
    var isGoneFromStore = false
    /// Unsaved values by slot.
    var changes: [Int: Value] = [:]
    /// The attributes of a new object that were set after its insertion, also to null.
    var givenSlots: Set<Int> = []
    let probe: AttributeProbe?
    /// Whether the store has, or had, the object.
    var hasBeenSaved: Bool
    /// Whether it is preparing for its deletion: objects that delete each other do so once.
    var isBeingDeleted = false

    /// The name of the class's entity: the class's own, unless a subclass says otherwise.
    open class var entityName: String { String(describing: self) }

    /// Whether there are no objects of the class itself, only of its subclasses. Subclasses inherit the answer, so it names the class:
    /// `override class var isAbstract: Bool { self == Publication.self }`.
    open class var isAbstract: Bool { false }

    /// Attributes, and to-one relationships, that are unique together, as `[["isbn", "edition"]]`, or alone: no two objects have the same
    /// values of them, unless one is null.
    open class var uniqueAttributes: [[String]] { [] }

    /// Orders that every writer keeps, so that fetches may always look objects up by them. Those of one attribute can be asked
    /// for at the attribute: `@Attribute("publisher", indexed: true)`.
    open class var indexes: [Index] { [] }

    /// Indexes that older classes had, and that the store is to remove.
    open class var removedIndexes: [Index] { [] }

    /// Names of attributes that older classes had, and that the store is to remove.
    open class var removedAttributes: [String] { [] }

    public required init(_ registration: ObjectRegistration) {
        currentID = registration.objectID
        core = registration.core
        entity = registration.entity
        status = registration.isInserted ? .inserted : .saved
        base = registration.record
        probe = registration.probe
        hasBeenSaved = !registration.isInserted
    }

    /// Inserts a new object. Traps unless the store's model has the class's entity.
    public required convenience init(context: ManagedObjectContext) {
        self.init(context.registrationOfNew(Self.self))
        context.didInsert(self)
    }

    deinit { core?.forget(self) }

    // MARK: Values

    /// The value of an attribute. Traps when the entity has none of the name, or the value is set to another type's.
    public subscript(_ name: String) -> Value {
        get {
            let slot = slot(of: name)
            noteRead(ofSlot: slot)
            return value(at: slot)
        }
        set { setValue(newValue, at: slot(of: name)) }
    }

    private func slot(of name: String) -> Int {
        guard let slot = entity.slot(of: name) else { preconditionFailure("\(entity.name) has no attribute \(name).") }
        return slot
    }

    /// The value of an attribute as a type. Throws `AttributeError`, and `StoreError` when the record is damaged.
    public func value<Wrapped: AttributeValue>(of name: String, as type: Wrapped.Type = Wrapped.self) throws -> Wrapped
    {
        let value = try value(ofAttribute: name)
        if let wrapped = Wrapped(attributeValue: value) { return wrapped }
        // A new object's attribute that was not set yet.
        if value.isNull, !hasBeenSaved, let placeholder = Wrapped.placeholder { return placeholder }
        throw AttributeError.unreadable(entity: entity.name, attribute: name, value: value, type: "\(type)")
    }

    // Not generic: that would cost more than reading does.
    private func value(ofAttribute name: String) throws -> Value {
        try withPublicErrors {
            guard let slot = entity.slot(of: name) else {
                throw AttributeError.unknownAttribute(entity: entity.name, attribute: name)
            }
            noteRead(ofSlot: slot)
            return try derivedValue(at: slot) ?? changes[slot] ?? readValue(at: slot)
        }
    }

    func presentValue<Wrapped: AttributeValue>(declaredAs name: String) -> Wrapped {
        do { return try value(of: name) } catch { preconditionFailure("\(self): \(error).") }
    }

    func setValue(_ value: Value, declaredAs name: String) { setValue(value, at: slot(of: name)) }

    func value(at slot: Int) -> Value { derivedValue(at: slot) ?? changes[slot] ?? savedValue(at: slot) }

    /// The value of a derived attribute, from unsaved values too; nil for other attributes.
    private func derivedValue(at slot: Int) -> Value? {
        guard entity.hasDerivations, entity.attribute(at: slot).derivation != nil, let record = currentRecord() else {
            return nil
        }
        return try? RecordView(record.span.bytes).value(at: slot, as: entity.type(at: slot))
    }

    /// The value as the context's snapshot has it.
    func savedValue(at slot: Int) -> Value {
        do { return try readValue(at: slot) } catch { preconditionFailure("\(self): \(error).") }
    }

    private func readValue(at slot: Int) throws -> Value {
        if let record = try readRecord() {
            let missing = entity.missingValues
            return try RecordView(record.span.bytes, missing: missing.span.bytes).value(
                at: slot, as: entity.type(at: slot))
        }
        if !hasBeenSaved { return entity.attribute(at: slot).defaultValue }
        let reason =
            if case .gone = status {
                "the object has left its context: the context was reset, or the object was deleted or rolled back"
            } else {
                "there is no such object in the store"
            }
        throw AttributeError.missing(entity: entity.name, attribute: entity.attribute(at: slot).name, reason)
    }

    private func readRecord() throws -> [UInt8]? {
        if base == nil, case .saved = status { base = try core?.readRecord(of: key) }
        return base
    }

    /// Reads the record of a fault; nil also when it is damaged, which the context notes.
    func savedRecord() -> [UInt8]? {
        do { return try readRecord() } catch {
            core?.note(error)
            return nil
        }
    }

    func setValue(_ value: Value, at slot: Int) {
        if status.isDeleted { return }
        guard let context = managedObjectContext else {
            preconditionFailure("\(self) has no context, so that its attributes cannot be set.")
        }
        let attribute = entity.attribute(at: slot)
        if let type = value.type, type != attribute.type {
            // A program's own value: what comes from files is converted, and refused, before it gets here.
            preconditionFailure(
                "\(entity.name).\(attribute.name) is \(attribute.type.nameWithArticle), not \(type.nameWithArticle).")
        }
        // Its value follows from others.
        if attribute.derivation != nil { return }
        if status.isInserted { givenSlots.insert(slot) }
        let former = self.value(at: slot)
        if former == value { return }
        context.willChange(self)
        let isAsSaved = status.isSaved && savedValue(at: slot) == value
        observedChange(ofSlots: [slot] + (entity.derivations?.slots(derivedFrom: slot) ?? [])) {
            if isAsSaved { changes.removeValue(forKey: slot) } else { changes[slot] = value }
        }
        context.didChange(self)
        switch entity.slots[slot].role {
        case .attribute: break
        case .reference: context.noteChangeOfRelated([former, value].compactMap { RecordKey($0) })
        case .position: context.noteChangeOfRelated(linkedTargets)
        }
    }

    /// The record with unsaved values; nil when the object is deleted. Values of another type count as null.
    func currentRecord() -> [UInt8]? {
        switch status {
        case .deleted, .gone: return nil
        case .inserted: return assembled(over: nil)
        case .saved:
            guard let saved = savedRecord() else { return nil }
            return changes.isEmpty ? saved : assembled(over: saved)
        }
    }

    /// A record of the unsaved values, or of those in some slots, over another record.
    func assembled(over record: [UInt8]?, slots: Set<Int>? = nil) -> [UInt8] {
        let bytes = record ?? RecordBuilder.empty
        var builder = RecordBuilder(slots: entity.slots.count, byteCount: bytes.count + 64)
        let missing = entity.missingValues
        guard let view = try? RecordView(bytes.span.bytes, missing: missing.span.bytes) else {
            return assembled(over: nil, slots: slots)
        }
        // The record may have slots that the entity got after this object was made.
        for slot in 0..<max(entity.slots.count, view.slotCount) {
            if let value = changes[slot], slots?.contains(slot) ?? true {
                builder.append(value)
            } else {
                do { try builder.append(slot, of: view) } catch { builder.appendNull() }
            }
        }
        let assembled = builder.finish()
        // A value that cannot be derived fails the save.
        do { return try entity.completed(assembled.span.bytes) ?? assembled } catch { return assembled }
    }

    // MARK: State

    /// What an object with unsaved edits is made of.
    struct UnsavedValues {
        fileprivate let status: Status
        fileprivate let base: [UInt8]?
        fileprivate let changes: [Int: Value]
        fileprivate let givenSlots: Set<Int>
        fileprivate let hasBeenSaved: Bool
        fileprivate let isGoneFromStore: Bool
    }

    var unsavedValues: UnsavedValues {
        get {
            UnsavedValues(
                status: status, base: base, changes: changes, givenSlots: givenSlots, hasBeenSaved: hasBeenSaved,
                isGoneFromStore: isGoneFromStore)
        }
        set {
            (status, base, changes, givenSlots) = (
                newValue.status, newValue.base, newValue.changes, newValue.givenSlots
            )
            (hasBeenSaved, isGoneFromStore) = (newValue.hasBeenSaved, newValue.isGoneFromStore)
        }
    }

    public var isInserted: Bool {
        noteReadOfState()
        return status.isInserted
    }

    /// Whether the next save deletes it.
    public var isDeleted: Bool {
        noteReadOfState()
        return status.isDeleted
    }

    /// Whether it was saved before and has unsaved values.
    public var isUpdated: Bool {
        noteReadOfState()
        return status.isSaved && !changes.isEmpty
    }

    public var hasChanges: Bool { isInserted || isUpdated || isDeleted }

    /// Whether its record was not read yet.
    public var isFault: Bool {
        if case .saved = status { return base == nil }
        return false
    }

    // MARK: For subclasses

    /// Called once after a new object was inserted: the place for first values.
    open func awakeFromInsert() {}
    /// Called before a save, while values can still be set.
    open func willSave() {}
    open func didSave() {}
    open func prepareForDeletion() {}
    /// Throws what is wrong with a new or updated object; the save then fails with it.
    open func validate() throws {}
}
