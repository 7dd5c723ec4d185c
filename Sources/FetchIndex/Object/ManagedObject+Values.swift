internal import FetchIndexEssentials
internal import FetchIndexModels
public import FetchIndexValues

extension ManagedObject {
    /// The unsaved values of attributes, and of to-one relationships that this object's record stores, by name. A
    /// relationship's value is the related object's id as text.
    public var changedValues: [String: Value] { named(changes) }

    /// The values as last saved or merged, by name, in the form of `changedValues`; empty for a new object, and if no
    /// record can be read.
    public var committedValues: [String: Value] {
        guard savedRecord() != nil else { return [:] }
        let slots = entity.attributeSlots + entity.relationshipSlots
        return named(Dictionary(uniqueKeysWithValues: slots.map { ($0, savedValue(at: $0)) }))
    }

    /// Converts values by slot to values by the names of attributes and relationships.
    func named(_ values: [Int: Value]) -> [String: Value] {
        var named: [String: Value] = [:]
        for (slot, value) in values where !entity.slots[slot].isRemoved {
            switch entity.slots[slot].role {
            case .attribute: named[entity.attribute(at: slot).name] = value
            case .reference:
                let id = RecordKey(value).flatMap { managedObjectContext?.id(of: $0) }
                named[entity.attribute(at: slot).name] =
                    id.map { .string($0.uriRepresentation?.absoluteString ?? "\($0)") } ?? .null
            case .position: break
            }
        }
        return named
    }
}
