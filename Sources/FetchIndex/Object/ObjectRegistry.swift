internal import FetchIndexModels

/// The objects of a context, without retaining them, and the unsaved values of those that nobody retains.
struct ObjectRegistry {
    /// The values of an object with unsaved edits that nobody retains: the context was released, and then the object.
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

    /// The objects by entity, so that a merge finds at once which entities matter.
    private var objects: [Int: [RecordKey: WeakObject]] = [:]
    private var detached: [RecordKey: DetachedObject] = [:]

    subscript(_ id: RecordKey) -> ManagedObject? { objects[id.entity]?[id]?.object }

    /// The entities with registered objects.
    var entities: [Int] { objects.filter { !$0.value.isEmpty }.map(\.key) }

    /// All registered objects that are still retained.
    var retained: [ManagedObject] { objects.values.flatMap { $0.values.compactMap(\.object) } }

    mutating func insert(_ object: ManagedObject) {
        objects[object.key.entity, default: [:]][object.key] = WeakObject(object: object)
    }

    mutating func remove(_ id: RecordKey) { objects[id.entity]?[id] = nil }

    /// Removes an object that is being deinitialized.
    mutating func forget(_ object: ManagedObject, keepingValues: Bool) {
        // Another instance of the object may be registered already.
        if self[object.key] != nil { return }
        remove(object.key)
        if keepingValues { detached[object.key] = DetachedObject(object) }
    }

    mutating func takeDetached(_ id: RecordKey) -> DetachedObject? {
        detached.isEmpty ? nil : detached.removeValue(forKey: id)
    }
}
