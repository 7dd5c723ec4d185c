internal import FetchIndexModels

/// The objects of a to-many relationship.
///
/// It loads nothing: counting costs O(log n), `contains` O(log n), and iteration makes an object at a time, in the order of their ids, or
/// by position where the relationship is ordered. Unsaved edits count. It always shows the present state; a loop may or may
/// not see what is saved or merged in it. Elements are inserted and removed here or, with the same effect, by the inverse relationship.
public struct Related<Object: ManagedObject>: RelationshipValue {
    public typealias Destination = Object
    public static var isToMany: Bool { true }

    private let owner: ManagedObject
    private let name: String

    public init(relationship name: String, of object: ManagedObject) { (owner, self.name) = (object, name) }

    /// Makes the objects of another relationship, or what was inserted and removed here, those of an object.
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
        guard let typed = object as? Object else { preconditionFailure("\(object) is no \(Object.self).") }
        return typed
    }

    /// Whether an object is one of them. O(log n); O(count) in an ordered many-to-many relationship.
    public func contains(_ object: Object) -> Bool { access?.contains(object) ?? false }

    // MARK: Changes

    /// Makes an object one of them, the last one where they are ordered. It leaves the object to which it was related, unless it
    /// may be related to many. Does nothing when it is one of them already. Traps for an object of another context or that is deleted.
    public func insert(_ object: Object) { access?.insert(object, before: nil) }

    /// As `insert`, before the element at an index of an ordered relationship. O(unsaved edits + log n).
    public func insert(_ object: Object, at index: Index) { access?.insert(object, before: index.place) }

    /// Moves an element before the one at an index of an ordered relationship.
    public func move(_ object: Object, to index: Index) { access?.move(object, before: index.place) }

    /// Relates an object no longer. Does nothing when it is not one of them.
    public func remove(_ object: Object) { access?.remove(object) }

    public func removeAll() { for object in Array(self) { remove(object) } }
}

extension Related: Sequence {
    /// The place of an element. It stays that of the same element until its position changes.
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

    /// O(log n).
    public var count: Int { Swift.max(0, access?.list.count ?? 0) }
    /// O(log n).
    public var isEmpty: Bool { count == 0 }
    /// O(log n + unsaved edits).
    public var first: Object? {
        var iterator = makeIterator()
        return iterator.next()
    }
    public var underestimatedCount: Int { 0 }
    /// O(log n + unsaved edits).
    public var startIndex: Index { Index(place: access?.list.first()) }
    public var endIndex: Index { Index(place: nil) }
    /// O(log n + unsaved edits).
    public func index(after index: Index) -> Index { Index(place: access?.list.first(after: index.place)) }

    /// The index of the element so many places further, or `endIndex`. O(distance x log n).
    public func index(_ index: Index, offsetBy distance: Int) -> Index {
        var index = index
        for _ in 0..<distance { index = self.index(after: index) }
        return index
    }

    /// Traps for `endIndex`, and for an index from before the element was deleted.
    public subscript(index: Index) -> Object {
        guard let place = index.place, let object = access?.object(at: place) else {
            preconditionFailure("\(owner).\(name) has no object at the index.")
        }
        return Self.typed(object)
    }
}

extension Related: CustomStringConvertible {
    /// 3 of Book
    public var description: String { "\(count) of \(Object.entityName)" }
}
