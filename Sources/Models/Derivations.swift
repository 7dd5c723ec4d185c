package import FetchIndexPredicates
package import FetchIndexValues

/// The derived attributes of a stored entity, with their compiled expressions.
package final class Derivations: Sendable {
    package struct Attribute: Sendable {
        package let slot: Int
        package let name: String
        package let type: ValueType
        package let isOptional: Bool
        package let expression: CompiledExpression
        /// The slots that the expression reads.
        fileprivate let inputs: Set<Int>
    }

    /// The derived attributes, or the error in one of their expressions. If it's an error, the entity's objects can be
    /// read, but not inserted or updated.
    package let attributes: Result<[Attribute], any Error>

    init(of entity: Entity) { attributes = Result { try Self.compile(entity) } }

    /// Returns the slots of the derived attributes whose expressions read a slot; none if `attributes` is an error.
    package func slots(derivedFrom slot: Int) -> [Int] {
        ((try? attributes.get()) ?? []).filter { $0.inputs.contains(slot) }.map(\.slot)
    }

    fileprivate static func compile(_ entity: Entity) throws -> [Attribute] {
        try entity.attributeSlots.compactMap { slot in
            let attribute = entity.attribute(at: slot)
            guard let derivation = attribute.derivation else { return nil }
            var inputs: Set<Int> = []
            do {
                let expression = try CompiledExpression(derivation, of: attribute.type) { names in
                    let (found, count) = try entity.resolve(names)
                    if entity.attribute(at: found).derivation != nil {
                        throw FetchPredicateError.typeMismatch(
                            "\(entity.attribute(at: found).name) is derived itself")
                    }
                    inputs.insert(found)
                    return ResolvedAttribute(slot: found, type: entity.attribute(at: found).type, nameCount: count)
                }
                return Attribute(
                    slot: slot, name: attribute.name, type: attribute.type, isOptional: attribute.isOptional,
                    expression: expression, inputs: inputs)
            } catch let error as FetchPredicateError {
                throw ModelError.invalid(
                    "\(entity.name).\(attribute.name) cannot be derived by \"\(derivation)\": \(error)")
            }
        }
    }
}

extension Entity {
    /// Throws `ModelError.invalid` if an expression can't compute values of its derived attribute.
    package func requireDerivations() throws { if hasDerivations { _ = try Derivations.compile(self) } }

    /// Finds the attribute with which a key path begins; `names` are the parts of the path between its dots. Returns
    /// the attribute's slot and the number of parts in its name, because a name may contain dots. The longest name that
    /// fits is used.
    package func resolve(_ names: [String]) throws -> (slot: Int, nameCount: Int) {
        for count in stride(from: names.count, through: 1, by: -1) {
            if let slot = slot(of: names.prefix(count).joined(separator: ".")) { return (slot, count) }
        }
        let unknown = names.joined(separator: ".")
        throw FetchPredicateError.unknownAttribute(unknown, entity: name, near: nearName(to: unknown))
    }
}

extension Model {
    /// Returns the model with compiled derivations in its entities.
    package func withDerivations() -> Model {
        var model = self
        for number in entities.indices where entities[number].hasDerivations {
            model.entities[number].stored.derivations = Derivations(of: entities[number])
        }
        return model
    }
}
