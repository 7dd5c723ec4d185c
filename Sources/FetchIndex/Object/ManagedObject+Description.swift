internal import FetchIndexModels
internal import FetchIndexRecords

/// Two objects are equal only if they are the same instance.
extension ManagedObject: Hashable, CustomStringConvertible {
    public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// A text such as Book #12 "虐殺器官": the entity, the id, and the object's first text value, if its record was read or
    /// the value was set.
    public var description: String {
        let name = "\(entity.name) \(objectID)"
        let missing = entity.missingValues
        for (slot, attribute) in zip(entity.attributeSlots, entity.attributes) where attribute.type == .string {
            let saved = base.flatMap {
                try? RecordView($0.span.bytes, missing: missing.span.bytes).value(at: slot, as: .string)
            }
            if case .string(let text) = changes[slot] ?? saved ?? .null { return "\(name) \"\(text)\"" }
        }
        return name
    }
}
