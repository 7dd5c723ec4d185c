internal import FetchIndexEssentials
internal import FetchIndexModels

/// Reads and edits a to-many relationship of an object.
struct ToManyAccess {
    private let owner: ManagedObject
    private let context: ManagedObjectContext
    private let relationship: RelationshipDescription
    private let join: Int?
    /// Whether the relationship is its own inverse, so that each link has a turned link.
    private let isSymmetric: Bool
    let list: LinkList

    /// Traps if the entity has no to-many relationship with the name, or if the object has left its context.
    init(_ owner: ManagedObject, _ name: String) {
        self.owner = owner
        guard let context = owner.managedObjectContext else {
            preconditionFailure("\(owner) has no context, so its relationships cannot be read.")
        }
        self.context = context
        guard let stored = owner.entity.relationship(named: name), stored.description.isToMany,
            let links = context.links(of: stored)
        else { preconditionFailure("\(owner.entity.name) has no to-many relationship \(name).") }
        relationship = stored.description
        if case .join(let entity, _) = stored.storage { join = entity } else { join = nil }
        isSymmetric = context.model.isOwnInverse(stored.description)
        list = LinkList(context: context, name: links, target: owner.key)
    }

    /// The related object of a link; nil if an unsaved link leads to an object that no longer exists, or if the sort
    /// key of a many-to-many link can't be read.
    func object(at place: LinkList.Place) -> ManagedObject? {
        if let object = place.object {
            if join == nil { return object.isMissing ? nil : object }
            // The related object of an unsaved link may have been deleted elsewhere.
            let slot = object.entity.links?.references.first { $0.name == list.name }?.other
            let other = slot.flatMap { RecordKey(object.lastValue(at: $0)) }.map { context.object(with: $0) }
            return other?.isMissing ?? true ? nil : other
        }
        let key = join == nil ? place.holder : place.other
        return key.map { context.object(with: $0) }
    }

    func contains(_ object: ManagedObject) -> Bool { holder(of: object) != nil }

    /// The object whose record holds the link to a related object: the related object itself, or the join object of a
    /// many-to-many relationship. Nil if the objects aren't linked.
    private func holder(of object: ManagedObject) -> ManagedObject? {
        if join != nil { return list.place(ofOther: object.key).map { context.object(with: $0.holder) } }
        guard let reference = object.reference(named: list.name) else { return nil }
        return RecordKey(object.value(at: reference.slot)) == owner.key ? object : nil
    }

    func insert(_ object: ManagedObject, before place: LinkList.Place?) {
        context.requireOwn(object)
        if contains(object) {
            if place != nil { move(object, before: place) }
            return
        }
        let position = relationship.isOrdered ? position(before: place) : .null
        if let join {
            context.insertJoin(join, from: owner, to: object, list.name, position)
        } else if let reference = object.reference(named: list.name) {
            object.setReference(reference, to: owner, position)
        } else {
            preconditionFailure("\(object) has the wrong entity for \(owner.entity.name).\(relationship.name).")
        }
    }

    func move(_ object: ManagedObject, before place: LinkList.Place?) {
        precondition(relationship.isOrdered, "\(owner.entity.name).\(relationship.name) is not ordered.")
        guard let holder = holder(of: object), let reference = holder.reference(named: list.name) else {
            preconditionFailure("\(object) is not an element of \(owner.entity.name).\(relationship.name).")
        }
        if place?.holder == holder.key { return }
        holder.setValue(position(before: place), at: reference.position)
    }

    func remove(_ object: ManagedObject) {
        guard let holder = holder(of: object) else { return }
        if join != nil {
            let links = LinkList(context: context, name: list.name, target: object.key)
            let turned = isSymmetric ? links.place(ofOther: owner.key) : nil
            context.delete(holder)
            if let turned { context.delete(context.object(with: turned.holder)) }
            return
        }
        if let reference = holder.reference(named: list.name) { holder.setReference(reference, to: nil) }
    }

    // MARK: Positions

    /// A position before a link, or after all links if the place is nil. If no position is free there, all objects of
    /// the relationship get new positions.
    func position(before place: LinkList.Place?) -> Value {
        if let position = free(before: place) { return .data(position) }
        var places: [LinkList.Place] = []
        var links = LinkList.Iterator(list)
        while let next = links.next() { places.append(next) }
        for (index, next) in places.enumerated() {
            let holder = context.object(with: next.holder)
            guard let reference = holder.reference(named: list.name) else { continue }
            holder.setValue(.data(Data(OrderedPosition.position(at: index))), at: reference.position)
        }
        let index = place.flatMap { place in places.firstIndex { $0.holder == place.holder } } ?? places.count
        let low = index > 0 ? OrderedPosition.position(at: index - 1) : nil
        let high = index < places.count ? OrderedPosition.position(at: index) : nil
        return OrderedPosition.between(low, high).map { .data(Data($0)) } ?? .null
    }

    private func free(before place: LinkList.Place?) -> Data? {
        let low = list.last(before: place)
        // Elements may have no position, if they were related before the relationship was ordered, or by a program that
        // doesn't set positions.
        if low != nil && low?.position == nil || place != nil && place?.position == nil { return nil }
        return OrderedPosition.between(low?.position, place?.position).map { Data($0) }
    }
}
