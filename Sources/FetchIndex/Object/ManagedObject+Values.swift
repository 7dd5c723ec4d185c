public import Values

extension ManagedObject {
    /// Unsaved values by name.
    public var changedValues: [String: Value] {
        let attributes = changes.filter { entity.slots[$0.key].role == .attribute }
        return Dictionary(uniqueKeysWithValues: attributes.map { (entity.attribute(at: $0.key).name, $0.value) })
    }

    /// The values as they were last saved or merged, by name; empty for a new object.
    public var committedValues: [String: Value] {
        guard savedRecord() != nil else { return [:] }
        return Dictionary(
            uniqueKeysWithValues: entity.attributeSlots.map { (entity.attribute(at: $0).name, savedValue(at: $0)) })
    }
}
