public import FetchIndexModels
internal import FetchIndexRecords

/// An object of a store in a context. A context has at most one instance for each id.
///
/// The object's record is read at the latest when one of its values is needed (until then the object is a fault), and
/// each value is decoded on demand. The object belongs to its context's isolation domain, and retains the context's
/// state. So the object can be read, edited and saved after the context was released.
///
/// Reading an attribute traps, with a message that gives the reason, if the object is a fault that has left its
/// context, if it's a fault and the store has no object with its id, if damage prevents reading the value, or if the
/// type can't represent the value. ``value(of:as:)`` throws in these cases. `fetch` and `existingObject(with:)` throw
/// if they find a damaged record. Setting an attribute traps if the object has no context, if damage prevents reading
/// the saved value or, unless the object is new, if it's a fault and the store has no object with its id. An object
/// that is marked as deleted ignores new values.
///
/// Subclasses declare their attributes with `@Attribute` and their relationships with `@Relationship`. They have no
/// other stored properties that need an initializer.
open class ManagedObject {
    /// The object's id, temporary until the object is saved.
    public internal(set) var objectID: ObjectID {
        get {
            noteReadOfState()
            return currentID
        }
        set { currentID = newValue }
    }
    private var currentID: ObjectID
    /// The object's context; nil once the object has left its context, for example because its deletion was saved or
    /// merged, its insertion was rolled back, an upsert replaced it, or the context was reset. If the context was
    /// released, it is recreated with its edits and settings, but without edits to undo.
    public var managedObjectContext: ManagedObjectContext? { core?.context }
    /// The state of the object's context; nil once the object has left the context.
    var core: ContextCore?
    public let entity: Entity

    var key: RecordKey { currentID.key }
    // The context's isolation domain guards the following properties: only the object and its context change them, in
    // this domain.
    /// The observers of the object; nil until a property is read.
    var observers: Observers?
    var status: Status
    /// The object's record in the context's snapshot; nil for a fault and for a new object.
    var base: [UInt8]?
    /// Whether this object was deleted elsewhere, or by a batch request, while it had unsaved edits. `base` is then the
    /// object's last record. The next save finds the conflict, unless the object is deleted here, too.
    var isGoneFromStore = false
    /// Unsaved values by slot. A deleted object keeps them, because its links are read from them.
    var changes: [Int: Value] = [:]
    /// The slots of an inserted object that were set after its insertion, even to null. An upsert updates only these
    /// slots of the stored object.
    var givenSlots: Set<Int> = []
    /// Records the reads of a prototype, an object that only serves to find out its class's attributes; nil for other
    /// objects.
    let probe: AttributeProbe?
    /// Whether `prepareForDeletion` is running. A second deletion is then ignored, because objects may delete each
    /// other.
    var isBeingDeleted = false

    /// The name of the class's entity. By default it's the name of the class.
    open class var entityName: String { String(describing: self) }

    /// Whether only subclasses have objects, not the class itself. Subclasses inherit an override, so an override must
    /// compare the class: `override class var isAbstract: Bool { self == Publication.self }`.
    open class var isAbstract: Bool { false }

    /// Lists of attributes and to-one relationships that must be unique together, such as `[["isbn", "edition"]]`. A
    /// list of one attribute makes that attribute unique. Two objects can't be saved with equal values in all
    /// attributes of a list, unless one of the values is null.
    open class var uniqueAttributes: [[String]] { [] }

    /// Orders that every writer maintains, so that fetches can look up objects in them. The declaration of an attribute
    /// can also request an index: `@Attribute("publisher", indexed: true)`.
    open class var indexes: [Index] { [] }

    /// Indexes that older versions of the class declared, and that the store must remove.
    open class var removedIndexes: [Index] { [] }

    /// The name of the entity in an older model: opening a store that has an entity of that name renames it. Subclasses
    /// inherit an override, so an override must compare the class, as for `isAbstract`.
    open class var renamedFrom: String? { nil }

    /// Names of attributes that older versions of the class declared, and that the store must remove.
    open class var removedAttributes: [String] { [] }

    public required init(_ registration: ObjectRegistration) {
        currentID = registration.objectID
        core = registration.core
        entity = registration.entity
        status = registration.isInserted ? .inserted : .saved
        base = registration.record
        probe = registration.probe
    }

    /// Inserts a new object. Traps if the store's model doesn't have the class's entity.
    public required convenience init(context: ManagedObjectContext) {
        self.init(context.registrationOfNew(Self.self))
        context.didInsert(self)
    }

    deinit { core?.forget(self) }

    // MARK: Values

    /// The value of an attribute. Reading and setting trap as for an `@Attribute` property, except that a read value
    /// needn't fit a Swift type. They also trap if the entity has no attribute with the name. Setting a value of
    /// another type traps, too.
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

    /// The value of an attribute, converted to a type. Throws `AttributeError`, and `StoreError` if the record is
    /// damaged.
    public func value<Wrapped: AttributeValue>(of name: String, as type: Wrapped.Type = Wrapped.self) throws -> Wrapped
    {
        let value = try value(ofAttribute: name)
        if let wrapped = Wrapped(attributeValue: value) { return wrapped }
        // In a new object, null reads as the placeholder.
        if value.isNull, !status.hasBeenSaved, let placeholder = Wrapped.placeholder { return placeholder }
        throw AttributeError.unreadable(entity: entity.name, attribute: name, value: value, type: "\(type)")
    }

    // This part isn't generic, because a generic call would cost more than the read.
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

    /// The value of a derived attribute, computed from the current values, including unsaved ones; nil if the attribute
    /// isn't derived, if the object has no current record, or if the value can't be read.
    private func derivedValue(at slot: Int) -> Value? {
        guard entity.hasDerivations, entity.attribute(at: slot).derivation != nil, let record = currentRecord() else {
            return nil
        }
        return try? RecordView(record.span.bytes).value(at: slot, as: entity.type(at: slot))
    }

    /// An attribute's value without unsaved edits: the value in the context's snapshot or, for a new object, the
    /// default. Traps if the value can't be read.
    func savedValue(at slot: Int) -> Value {
        do { return try readValue(at: slot) } catch { preconditionFailure("\(self): \(error).") }
    }

    private func readValue(at slot: Int) throws -> Value {
        if let record = try readRecord() {
            let missing = entity.missingValues
            return try RecordView(record.span.bytes, missing: missing.span.bytes).value(
                at: slot, as: entity.type(at: slot))
        }
        if !status.hasBeenSaved { return entity.attribute(at: slot).defaultValue }
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

    /// The saved record, which is read now if the object is a fault. Nil if the object has no saved record, or if
    /// reading the record fails, which the context notes.
    func savedRecord() -> [UInt8]? {
        do { return try readRecord() } catch {
            core?.note(error)
            return nil
        }
    }

    func setValue(_ value: Value, at slot: Int) {
        if status.isDeleted { return }
        guard let context = managedObjectContext else {
            preconditionFailure("\(self) has no context, so its attributes cannot be set.")
        }
        let attribute = entity.attribute(at: slot)
        if let type = value.type, type != attribute.type {
            // A value of another type is always the program's mistake: values from files are converted or refused
            // earlier.
            preconditionFailure(
                "\(entity.name).\(attribute.name) is \(attribute.type.nameWithArticle), not \(type.nameWithArticle).")
        }
        // A derived value can't be set.
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

    /// The record with the unsaved values; nil if the object is deleted or has left the context, or if its saved record
    /// is missing or can't be read. A damaged saved value becomes null if the object has unsaved values.
    func currentRecord() -> [UInt8]? {
        switch status {
        case .deleted, .gone: return nil
        case .inserted: return assembled(over: nil)
        case .saved:
            guard let saved = savedRecord() else { return nil }
            return changes.isEmpty ? saved : assembled(over: saved)
        }
    }

    /// Makes a record from another record by setting the unsaved values of all slots, or of the given slots.
    func assembled(over record: [UInt8]?, slots: Set<Int>? = nil) -> [UInt8] {
        let bytes = record ?? RecordBuilder.empty
        var builder = RecordBuilder(slots: entity.slots.count, byteCount: bytes.count + 64)
        let missing = entity.missingValues
        guard let view = try? RecordView(bytes.span.bytes, missing: missing.span.bytes) else {
            return assembled(over: nil, slots: slots)
        }
        // The record may have more slots than this object's entity, if attributes were added later.
        for slot in 0..<max(entity.slots.count, view.slotCount) {
            if let value = changes[slot], slots?.contains(slot) ?? true {
                builder.append(value)
            } else {
                do { try builder.append(slot, of: view) } catch { builder.appendNull() }
            }
        }
        let assembled = builder.finish()
        // A derived value that can't be computed makes the save fail later.
        do { return try entity.completed(assembled.span.bytes) ?? assembled } catch { return assembled }
    }

    // MARK: State

    /// The state of an object with unsaved edits, which outlives the object.
    struct UnsavedValues {
        fileprivate let status: Status
        fileprivate let base: [UInt8]?
        fileprivate let changes: [Int: Value]
        fileprivate let givenSlots: Set<Int>
        fileprivate let isGoneFromStore: Bool
    }

    var unsavedValues: UnsavedValues {
        get {
            UnsavedValues(
                status: status, base: base, changes: changes, givenSlots: givenSlots, isGoneFromStore: isGoneFromStore)
        }
        set {
            (status, base, changes, givenSlots) = (
                newValue.status, newValue.base, newValue.changes, newValue.givenSlots
            )
            isGoneFromStore = newValue.isGoneFromStore
        }
    }

    // MARK: For subclasses

    /// Called once, after a new object was inserted. An override may set initial values.
    open func awakeFromInsert() {}
    /// Called at the beginning of a save for each object that then has unsaved edits. An override may set values.
    open func willSave() {}
    open func didSave() {}
    open func prepareForDeletion() {}
    /// Checks a new or updated object before a save. If an override throws an error, the save fails and reports the
    /// error.
    open func validate() throws {}
}
