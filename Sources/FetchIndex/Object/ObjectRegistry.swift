internal import FetchIndexModels

/// Weak references to the objects of a context, and the unsaved values of objects that were released.
struct ObjectRegistry {
    /// The unsaved values of an object that was released after its context.
    struct DetachedObject {
        let type: ManagedObject.Type
        let entity: Entity
        let values: ManagedObject.UnsavedValues

        init(_ object: ManagedObject) {
            (type, entity, values) = (Swift.type(of: object), object.entity, object.unsavedValues)
        }
    }

    private struct WeakObject {
        weak var object: ManagedObject?
    }

    /// The objects by entity, so that a merge knows which entities have objects.
    private var objects: [Int: [RecordKey: WeakObject]] = [:]
    private var detached: [RecordKey: DetachedObject] = [:]

    subscript(_ id: RecordKey) -> ManagedObject? { objects[id.entity]?[id]?.object }

    /// The numbers of the entities with registered objects.
    var entities: [Int] { objects.filter { !$0.value.isEmpty }.map(\.key) }

    /// All registered objects that haven't been released.
    var retained: [ManagedObject] { objects.values.flatMap { $0.values.compactMap(\.object) } }

    mutating func insert(_ object: ManagedObject) {
        objects[object.key.entity, default: [:]][object.key] = WeakObject(object: object)
    }

    mutating func remove(_ id: RecordKey) { objects[id.entity]?[id] = nil }

    /// Removes an object that is being deinitialized, and keeps its unsaved values if `keepingValues` is true.
    mutating func forget(_ object: ManagedObject, keepingValues: Bool) {
        // A new instance of the same object may already be registered.
        if self[object.key] != nil { return }
        remove(object.key)
        if keepingValues { detached[object.key] = DetachedObject(object) }
    }

    mutating func takeDetached(_ id: RecordKey) -> DetachedObject? {
        detached.isEmpty ? nil : detached.removeValue(forKey: id)
    }
}
