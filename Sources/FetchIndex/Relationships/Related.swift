internal import FetchIndexModels

/// The objects of a to-many relationship.
///
/// The collection doesn't load objects in advance. Iteration makes one object at a time, in the order of ids, or of
/// positions if the relationship is ordered. The collection shows the current state with unsaved edits. A loop may or
/// may not see objects that are saved or merged during the loop. Elements can be inserted and removed here or, with the
/// same effect, through the inverse relationship.
public struct Related<Object: ManagedObject>: RelationshipValue {
    public typealias Destination = Object
    public static var isToMany: Bool { true }

    private let owner: ManagedObject
    private let name: String

    public init(relationship name: String, of object: ManagedObject) { (owner, self.name) = (object, name) }

    /// Sets a relationship of an object to the objects of this collection.
    public func set(asRelationship name: String, of object: ManagedObject) {
        if owner === object && self.name == name { return }
        let objects = Array(self)
        let related = Related(relationship: name, of: object)
        related.removeAll()
        for element in objects { related.insert(element) }
    }

    private var access: ToManyAccess? {
        owner.noteReadOfRelated()
        owner.core?.know(Object.self)
        if case .gone = owner.status { return nil }
        return owner.probe == nil ? ToManyAccess(owner, name) : nil
    }

    private static func typed(_ object: ManagedObject) -> Object {
        guard let typed = object as? Object else { preconditionFailure("\(object) is not a \(Object.self).") }
        return typed
    }

    /// Whether an object is in the relationship. O((1 + unsaved edits) x log n); O((unsaved edits + count) x log n) in
    /// an ordered many-to-many relationship.
    public func contains(_ object: Object) -> Bool { access?.contains(object) ?? false }

    // MARK: Changes

    /// Inserts an object, at the end if the relationship is ordered. If the inverse is to-one, the inserted object
    /// loses its former related object. Does nothing if the relationship's owner has left its context. Otherwise traps
    /// if the object is deleted or isn't in the owner's context, and does nothing if it's already an element.
    public func insert(_ object: Object) { access?.insert(object, before: nil) }

    /// Inserts an object before the element at an index of an ordered relationship. An object that is already an
    /// element is moved there, unless the index is `endIndex`. O((1 + unsaved edits) x log n); O((unsaved edits +
    /// count) x log n) if the inverse is to-many, or if all elements need new positions.
    public func insert(_ object: Object, at index: Index) { access?.insert(object, before: index.place) }

    /// Moves an element before the element at an index of an ordered relationship. Traps if the relationship isn't
    /// ordered, or if the object isn't an element.
    public func move(_ object: Object, to index: Index) { access?.move(object, before: index.place) }

    /// Removes an object from the relationship. Does nothing if the object isn't an element.
    public func remove(_ object: Object) { access?.remove(object) }

    public func removeAll() { for object in Array(self) { remove(object) } }
}

extension Related: Sequence {
    /// The position of an element in the collection. An index identifies its element until the element is moved or
    /// removed.
    public struct Index: Comparable {
        let place: LinkList.Place?

        public static func == (left: Index, right: Index) -> Bool { left.place == right.place }
        public static func < (left: Index, right: Index) -> Bool {
            guard let place = left.place else { return false }
            return right.place.map { place < $0 } ?? true
        }
    }

    public struct Iterator: IteratorProtocol {
        fileprivate let access: ToManyAccess?
        fileprivate var links: LinkList.Iterator?

        public mutating func next() -> Object? {
            guard let access else { return nil }
            while let place = links?.next() { if let object = access.object(at: place) { return typed(object) } }
            return nil
        }
    }

    public func makeIterator() -> Iterator {
        let access = access
        return Iterator(access: access, links: access.map { LinkList.Iterator($0.list) })
    }

    /// The number of elements. O(log n), and O(unsaved edits) more for the context's first use of a relationship, and
    /// for the first one after a save, a merge, a batch request, a rollback or a refresh.
    public var count: Int { Swift.max(0, access?.list.count ?? 0) }
    /// Whether the relationship has no elements. Costs as much as `count`.
    public var isEmpty: Bool { count == 0 }
    /// The first element. O(log n + u log u) for u unsaved edits.
    public var first: Object? {
        var iterator = makeIterator()
        return iterator.next()
    }
    public var underestimatedCount: Int { 0 }
    /// The index of the first element. O(log n + unsaved edits).
    public var startIndex: Index { Index(place: access?.list.first()) }
    public var endIndex: Index { Index(place: nil) }
    /// The index after an index, which mustn't be `endIndex`. O(log n + unsaved edits).
    public func index(after index: Index) -> Index { Index(place: access?.list.first(after: index.place)) }

    /// The index `distance` elements after an index. The distance mustn't be negative or lead beyond `endIndex`.
    /// O(distance x (log n + unsaved edits)).
    public func index(_ index: Index, offsetBy distance: Int) -> Index {
        var index = index
        for _ in 0..<distance { index = self.index(after: index) }
        return index
    }

    /// The element at an index. Traps for `endIndex`. If the element was removed after the index was made, may return
    /// the removed object or trap.
    public subscript(index: Index) -> Object {
        guard let place = index.place, let object = access?.object(at: place) else {
            preconditionFailure("\(owner).\(name) has no object at the index.")
        }
        return Self.typed(object)
    }
}

extension Related: CustomStringConvertible {
    /// A text such as 3 of Book.
    public var description: String { "\(count) of \(Object.entityName)" }
}
