internal import FetchIndexModels

extension ManagedObject {
    /// The related object of a to-one relationship; nil if this object has none, or if the related object was deleted.
    /// O(log n + unsaved edits). Traps if the entity lacks the relationship, and, if this object's record has the
    /// reference, in the cases in which reading an attribute traps.
    public func relatedObject(_ name: String) -> ManagedObject? {
        let relationship = toOneRelationship(name)
        if case .reference(let slot, _) = relationship.storage {
            noteRead(ofSlot: slot)
            // A damaged reference may have the key of any entity.
            guard let key = RecordKey(value(at: slot)),
                entity.links?.reference(at: slot)?.destinations.contains(key.entity) ?? false
            else { return nil }
            guard let context = managedObjectContext else {
                if case .gone = status { return nil }
                preconditionFailure("\(self) has no context, so its relationships cannot be read.")
            }
            let object = context.object(with: key)
            return object.isMissing ? nil : object
        }
        noteReadOfRelated()
        return holder(of: relationship)?.object
    }

    /// Sets the related object of a to-one relationship. The inverse shows the change immediately. If the inverse is
    /// to-one, too, the new object loses its former partner. Traps if the entity lacks the relationship, or if this
    /// object has left its context. Also traps if the new object is deleted, belongs to another context, or is of an
    /// entity to which the relationship doesn't lead. Does nothing if this object is marked as deleted.
    public func relate(_ name: String, to object: ManagedObject?) { setRelatedObject(object, name) }

    /// The objects of a to-many relationship.
    public func relatedObjects(_ name: String) -> Related<ManagedObject> { Related(relationship: name, of: self) }

    func setRelatedObject(_ object: ManagedObject?, _ name: String) {
        if status.isDeleted { return }
        guard let context = managedObjectContext else {
            preconditionFailure("\(self) has no context, so its relationships cannot be set.")
        }
        if let object { context.requireOwn(object) }
        let relationship = toOneRelationship(name)
        if case .reference(let slot, _) = relationship.storage, let reference = entity.links?.reference(at: slot) {
            return setReference(reference, to: object)
        }
        let former = holder(of: relationship)
        if former?.object === object { return }
        if let former { former.object.setReference(former.reference, to: nil) }
        guard let object, let name = context.links(of: relationship) else { return }
        guard let reference = object.reference(named: name) else {
            preconditionFailure("\(object) has the wrong entity for \(entity.name).\(relationship.description.name).")
        }
        object.setReference(reference, to: self)
    }

    /// Whether the object is deleted, has left the context, or is a fault without a record in the store. An object with
    /// a damaged record isn't missing, so that reading its attributes reports the damage.
    var isMissing: Bool {
        switch status {
        case .inserted: return false
        case .deleted, .gone: return true
        case .saved:
            do { return try base == nil && core?.readRecord(of: key) == nil } catch { return false }
        }
    }

    private func toOneRelationship(_ name: String) -> StoredRelationship {
        guard let relationship = entity.relationship(named: name), !relationship.description.isToMany else {
            preconditionFailure("\(entity.name) has no to-one relationship \(name).")
        }
        return relationship
    }

    /// The object whose record refers to this object in a one-to-one relationship, and the reference in that record.
    private func holder(
        of relationship: StoredRelationship
    ) -> (object: ManagedObject, reference: EntityLinks.Reference)? {
        guard let context = managedObjectContext, let name = context.links(of: relationship),
            let place = LinkList(context: context, name: name, target: key).first()
        else { return nil }
        let object = place.object ?? context.object(with: place.holder)
        if object.isMissing { return nil }
        return object.reference(named: name).map { (object, $0) }
    }

    func reference(named name: EntityLinks.Name) -> EntityLinks.Reference? {
        entity.links?.references.first { $0.name == name }
    }

    /// Sets a reference to another object or, if `object` is nil, to null. If the inverse is ordered and no position is
    /// given, this object gets the last position in the inverse.
    func setReference(_ reference: EntityLinks.Reference, to object: ManagedObject?, _ position: Value? = nil) {
        guard let context = managedObjectContext, !status.isDeleted else { return }
        if let object {
            guard reference.destinations.contains(object.key.entity) else {
                preconditionFailure("\(object) has the wrong entity for \(entity.name).\(reference.relationship).")
            }
            if RecordKey(value(at: reference.slot)) == object.key { return }
            if reference.isUnique && !reference.isSymmetric {
                let list = LinkList(context: context, name: reference.name, target: object.key)
                while let taken = list.first() {
                    let former = context.object(with: taken.holder)
                    former.setValue(.null, at: former.reference(named: reference.name)?.slot ?? reference.slot)
                    if list.first() == taken { break }
                }
            }
        }
        if reference.isSymmetric { return setPartner(reference, to: object, in: context) }
        let place = position ?? object.flatMap { context.endPosition(of: $0, for: reference, of: self) } ?? .null
        setValue(place, at: reference.position)
        setValue(object?.key.reference ?? .null, at: reference.slot)
    }

    /// Sets the reference of a to-one relationship that is its own inverse, in both objects. Former partners lose theirs.
    private func setPartner(
        _ reference: EntityLinks.Reference, to object: ManagedObject?, in context: ManagedObjectContext
    ) {
        func set(_ object: ManagedObject, _ partner: ManagedObject?) {
            let slot = object.reference(named: reference.name)?.slot ?? reference.slot
            object.setValue(partner?.key.reference ?? .null, at: slot)
        }
        for one in [self, object] {
            guard let one, let own = one.reference(named: reference.name),
                let former = RecordKey(one.value(at: own.slot)).map({ context.object(with: $0) }),
                former !== self, former !== object, !former.isMissing
            else { continue }
            set(former, nil)
        }
        set(self, object)
        if let object, object !== self { set(object, self) }
    }

    // MARK: Observation

    func noteReadOfRelated() { noteRead(ofSlot: .max) }
}
