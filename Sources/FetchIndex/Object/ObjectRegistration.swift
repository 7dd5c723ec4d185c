internal import FetchIndexModels

/// The initial state that a context gives an object.
public struct ObjectRegistration {
    let objectID: ObjectID
    let entity: Entity
    var core: ContextCore?
    var isInserted = false
    var record: [UInt8]?
    var probe: AttributeProbe?

    /// The registration of a prototype, which belongs to no context and only records what is read.
    static func prototype(_ probe: AttributeProbe) -> ObjectRegistration {
        ObjectRegistration(objectID: .anyRecord, entity: Entity("", []), core: nil, probe: probe)
    }
}
