internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

// Compares the columns of a file with the attributes of a stored entity.
extension EntityPreparation {
    /// Returns the attributes for the columns that a stored entity lacks. They are optional, so adding them is a free
    /// change: no record is rewritten.
    func missingAttributes(_ columns: [String], of stored: Entity) throws -> [AttributeDescription] {
        let missing = columns.filter { stored.slot(of: $0) == nil }
        let known = columns.filter { stored.slot(of: $0) != nil }
        let types = types(of: columns)
        _ = try differs(stored, from: known, types.filter { stored.slot(of: $0.key) != nil }, isEmpty: false)
        let found = try inferredTypes(of: missing)
        return missing.map { AttributeDescription($0, types[$0] ?? found[$0] ?? .string) }
    }

    /// Returns whether a stored entity lacks a column or an attribute with a given type, has an attribute of another
    /// type than the given one or, if `isEmpty`, has a key that isn't unique. Throws instead if the entity must stay
    /// (`isEmpty` is false), or if it lacks a column that has no given type and isn't the key.
    func differs(
        _ stored: Entity, from columns: [String], _ types: [String: ValueType], isEmpty: Bool
    ) throws -> Bool {
        var differs = false
        for name in columns where stored.slot(of: name) == nil {
            differs = true
            if isEmpty, types[name] != nil || name == key { continue }
            throw missingAttribute(name, in: stored)
        }
        for (name, type) in types.sorted(by: { $0.key < $1.key }) {
            guard let slot = stored.slot(of: name) else {
                differs = true
                if isEmpty { continue }
                throw stored.unknownAttribute(name)
            }
            let attribute = stored.attribute(at: slot)
            if type == attribute.type { continue }
            differs = true
            if isEmpty { continue }
            throw ImportError.otherType(entity: entity, attribute: name, stored: attribute.type, given: type)
        }
        // For an entity that stays, the writer reports a key that isn't unique.
        if isEmpty, let key, stored.slot(of: key).map({ !stored.attribute(at: $0).isUnique }) ?? true { differs = true }
        return differs
    }

    private func missingAttribute(_ name: String, in stored: Entity) -> BadInput {
        var bad = request.badColumn(
            all.firstIndex(of: name).map { $0 + 1 }, name,
            reason: "the stored entity \(entity) has no such attribute\(stored.nearName(to: name).hint)")
        bad.remedy = .addColumns
        return bad
    }
}
