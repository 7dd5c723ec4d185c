internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexRecords

extension ManagedObjectContext {
    /// The links that unsaved edits add and remove. O(unsaved edits) for the first call after `linkEdits` was reset,
    /// otherwise O(1).
    func currentLinkEdits() -> LinkEdits {
        if let known = core.linkEdits { return known }
        var edits = LinkEdits()
        for object in core.edits.unsaved.map(editedObject) { edits.note(object.key, object.links()) }
        core.linkEdits = edits
        return edits
    }

    /// Updates `linkEdits`, if it isn't nil, after an edit of an object.
    func noteLinks(of object: ManagedObject) {
        guard object.entity.links?.references.isEmpty == false, core.linkEdits != nil else { return }
        core.linkEdits?.note(object.key, object.isUnsaved ? object.links() : [])
    }

    /// Notifies the observers of the objects with the given keys: the links to these objects may have changed.
    func noteChangeOfRelated(_ keys: some Sequence<RecordKey>) {
        for key in keys {
            registeredObject(for: key)?.noteChangeOfRelated()
        }
    }

    /// The name of a relationship's links, if records of the destination or of a join entity hold the references. Nil
    /// if the entity's own records hold them.
    func links(of relationship: StoredRelationship) -> EntityLinks.Name? {
        switch relationship.storage {
        case .reference: return nil
        case .join(let entity, let side):
            guard model.entities.indices.contains(entity) else { return nil }
            return model.entities[entity].links?.reference(at: side)?.name
        case .inverse:
            let destination = model.entity(named: relationship.description.destination)
            return destination?.links?.references.first { $0.relationship == relationship.description.inverse }?.name
        }
    }

    /// Traps if an object belongs to another context or is deleted, so that it can't be related to objects of this
    /// context.
    func requireOwn(_ object: ManagedObject) {
        precondition(object.core === core, "\(object) is not an object of the same context.")
        precondition(!object.status.isDeleted, "\(object) is deleted.")
    }

    /// The position after all objects in an ordered inverse relationship; nil if the inverse isn't ordered.
    func endPosition(
        of target: ManagedObject, for reference: EntityLinks.Reference, of holder: ManagedObject
    ) -> Value? {
        guard let inverse = holder.entity.relationship(named: reference.relationship)?.description.inverse,
            target.entity.relationship(named: inverse)?.description.isOrdered == true
        else { return nil }
        return ToManyAccess(target, inverse).position(before: nil)
    }

    /// Inserts a link of a many-to-many relationship between two objects. `name` is the name of the links to `near`,
    /// and `position` the link's position among them.
    func insertJoin(
        _ entity: Int, from near: ManagedObject, to far: ManagedObject, _ name: EntityLinks.Name, _ position: Value
    ) {
        guard let references = model.entities[entity].links?.references, references.count == 2,
            let side = references.firstIndex(where: { $0.name == name })
        else { return }
        let (own, other) = (references[side], references[1 - side])
        precondition(
            other.destinations.contains(far.key.entity), "\(far) has the wrong entity for a link with \(near).")
        let isSymmetric = references[0].isSymmetric
        let back = far.entity.storedRelationships.first {
            !$0.isRemoved && $0.storage == .join(entity: entity, side: isSymmetric ? own.slot : other.slot)
        }
        let end: Value? =
            back?.description.isOrdered == true
            ? ToManyAccess(far, back?.description.name ?? "").position(before: nil) : nil
        func insert(_ near: ManagedObject, _ far: ManagedObject, _ position: Value, _ otherPosition: Value) {
            let link = insertObject(ofEntity: entity)
            link.setValue(position, at: own.position)
            link.setValue(otherPosition, at: other.position)
            link.setValue(near.key.reference, at: own.slot)
            link.setValue(far.key.reference, at: other.slot)
        }
        insert(near, far, position, end ?? .null)
        if isSymmetric && near !== far { insert(far, near, end ?? .null, position) }
    }

    // MARK: Deletion

    /// Updates unsaved links after the context has advanced. Removes links that lead to objects deleted elsewhere.
    /// Applies the delete rules of objects deleted here to links that were added elsewhere.
    func settleLinks(after committed: [RecordChange]) {
        for change in committed where change.new == nil && model.entities.indices.contains(change.object.entity) {
            for incoming in model.entities[change.object.entity].links?.incoming ?? [] {
                let side = LinkEdits.Side(name: incoming.name, target: change.object)
                for place in currentLinkEdits().added[side].map({ Array($0.places) }) ?? [] {
                    guard let holder = registeredObject(for: place.holder) else { continue }
                    if incoming.isJoin {
                        deleteAlone(holder)
                    } else if let reference = holder.reference(named: incoming.name) {
                        holder.setReference(reference, to: nil)
                    }
                }
            }
        }
        var waiting = unsavedObjects.filter { $0.status.isDeleted && $0.entity.links != nil }
        while let next = waiting.popLast() {
            for object in applyDeleteRules(of: next) where deleteAlone(object) { waiting.append(object) }
        }
    }

    /// Applies the delete rules of a deleted object to its related objects. Returns the related objects, and join
    /// objects, that must be deleted, too.
    func applyDeleteRules(of object: ManagedObject) -> [ManagedObject] {
        guard let links = object.entity.links else { return [] }
        // The deletion of an object that was never saved removes its links under any rule.
        let isNew = !object.status.hasBeenSaved
        var deleted: [ManagedObject] = []
        for reference in links.references where reference.rule == .cascade {
            // A related new object may have been deleted, and is then no longer in the context.
            if let target = RecordKey(object.lastValue(at: reference.slot)),
                !target.isTemporary || registeredObject(for: target) != nil
            {
                deleted.append(self.object(with: target))
            }
        }
        for incoming in links.incoming {
            // If the rule is `deny`, the links stay, so that the save finds them and fails.
            if incoming.rule == .deny && !isNew { continue }
            if incoming.rule == .noAction && !incoming.isJoin && !isNew { continue }
            var places = LinkList.Iterator(LinkList(context: self, name: incoming.name, target: object.key))
            while let place = places.next() {
                let holder = place.object ?? self.object(with: place.holder)
                // A missing or damaged record is skipped here; the save reports the damage.
                if !holder.status.isInserted && holder.savedRecord() == nil { continue }
                if incoming.isJoin {
                    deleted.append(holder)
                    if incoming.rule == .cascade, let other = place.other { deleted.append(self.object(with: other)) }
                } else if incoming.rule == .cascade {
                    deleted.append(holder)
                } else if let reference = holder.reference(named: incoming.name) {
                    holder.setReference(reference, to: nil)
                }
            }
        }
        return deleted
    }

    // MARK: Validation

    /// The violations of relationships' rules by an object, which prevent a save.
    func relationshipFailures(of object: ManagedObject) -> [ValidationError.Failure] {
        guard let links = object.entity.links else { return [] }
        if object.status.isDeleted { return denials(of: object, links) }
        // The values of a possible upsert are validated later, when the stored object is known.
        if object.status.isInserted && onUniqueConflict == .update { return [] }
        return links.references.filter { !$0.isOptional && object.value(at: $0.slot).isNull }.map {
            object.failure($0.relationship, "is required")
        }
    }

    private func denials(of object: ManagedObject, _ links: EntityLinks) -> [ValidationError.Failure] {
        func denial(_ relationship: String?, _ other: ManagedObject) -> ValidationError.Failure {
            object.failure(relationship, "has \(other), so the delete rule forbids the deletion")
        }
        var failures: [ValidationError.Failure] = []
        for incoming in links.incoming where incoming.rule == .deny {
            guard let place = LinkList(context: self, name: incoming.name, target: object.key).first() else { continue }
            let key = incoming.isJoin ? place.other ?? place.holder : place.holder
            failures.append(denial(incoming.relationship, self.object(with: key)))
        }
        for reference in links.references where reference.rule == .deny {
            guard let target = RecordKey(object.lastValue(at: reference.slot)) else { continue }
            let other = self.object(with: target)
            if other.currentRecord() != nil { failures.append(denial(reference.relationship, other)) }
        }
        return failures
    }

    /// The violations of `minCount` and `maxCount` by new objects, and by saved objects that gained or lost links by
    /// unsaved edits. New objects are left out if they may represent stored objects.
    func countFailures() -> [ValidationError.Failure] {
        guard model.hasRelationships else { return [] }
        // Under the policy `.update`, a new object may represent a stored object, which may have more related objects.
        let new = onUniqueConflict == .update ? [] : insertedObjects
        var objects = Dictionary(uniqueKeysWithValues: new.map { ($0.key, $0) })
        for key in currentLinkEdits().targets where objects[key] == nil && !key.isTemporary {
            let object = self.object(with: key)
            if case .saved = object.status { objects[key] = object }
        }
        var failures: [ValidationError.Failure] = []
        for object in objects.sorted(by: { $0.key < $1.key }).map(\.value) {
            for relationship in object.entity.relationships
            where relationship.isToMany && (relationship.minCount > 0 || relationship.maxCount > 0) {
                let count = ToManyAccess(object, relationship.name).list.count
                if count < relationship.minCount {
                    let reason = "has \(counted(count, "object")), but must have at least \(relationship.minCount)"
                    failures.append(object.failure(relationship.name, reason))
                } else if relationship.maxCount > 0 && count > relationship.maxCount {
                    let reason = "has \(counted(count, "object")), but may have at most \(relationship.maxCount)"
                    failures.append(object.failure(relationship.name, reason))
                }
            }
        }
        return failures
    }

    /// Calls a body that reads the store. If the body throws, returns nil, and the context reports the error in
    /// `damage`.
    @discardableResult
    func noting<Result>(_ body: () throws -> Result) -> Result? {
        do { return try body() } catch {
            note(error)
            return nil
        }
    }
}
