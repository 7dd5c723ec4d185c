internal import FetchIndexModels

/// What a context gives an object to begin with.
public struct ObjectRegistration {
    let objectID: ObjectID
    let entity: Entity
    var core: ContextCore?
    var isInserted = false
    var record: [UInt8]?
    var probe: AttributeProbe?

    /// Of an object that belongs to no context and only tells what is asked of it.
    static func prototype(_ probe: AttributeProbe) -> ObjectRegistration {
        ObjectRegistration(objectID: .anyRecord, entity: Entity("", []), core: nil, probe: probe)
    }
}
