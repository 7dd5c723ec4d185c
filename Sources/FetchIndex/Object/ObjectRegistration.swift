internal import FetchIndexModels

/// The initial state of an object, for the object's initializer.
public struct ObjectRegistration {
    let objectID: ObjectID
    let entity: Entity
    var core: ContextCore?
    var isInserted = false
    var record: [UInt8]?
    var probe: AttributeProbe?

    /// The registration of a prototype. A prototype doesn't belong to a context; it only records reads.
    static func prototype(_ probe: AttributeProbe) -> ObjectRegistration {
        ObjectRegistration(objectID: .anyRecord, entity: Entity("", []), core: nil, probe: probe)
    }
}
