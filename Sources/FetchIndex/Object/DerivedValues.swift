internal import FetchIndexModels
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexValues

/// Computes the derived attributes of an entity's records.
final class DerivedValues: RecordCompleter {
    private struct Attribute {
        let slot: Int
        let name: String
        let type: ValueType
        let isOptional: Bool
        let expression: CompiledExpression
        /// The slots that it reads.
        let inputs: Set<Int>
    }

    private let entityName: String
    private let attributes: [Attribute]
    private let slotCount: Int
    private let missingValues: [UInt8]

    /// Throws `StoreError.invalidModel` for an expression that cannot give the attribute's values.
    init(of entity: Entity) throws {
        entityName = entity.name
        slotCount = entity.slots.count
        missingValues = entity.missingValues
        attributes = try entity.attributeSlots.compactMap { slot in
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
                throw StoreError.invalidModel(
                    "\(entity.name).\(attribute.name) cannot be derived by \"\(derivation)\": \(error)")
            }
        }
    }

    func completed(_ record: RawSpan) throws -> [UInt8]? {
        let missing = missingValues
        let view = try RecordView(record, missing: missing.span.bytes)
        var new: [Int: Value] = [:]
        for attribute in attributes {
            let value = try value(of: attribute, in: view)
            if try view.slotCount <= attribute.slot || view.value(at: attribute.slot, as: attribute.type) != value {
                new[attribute.slot] = value
            }
        }
        if new.isEmpty { return nil }
        var builder = RecordBuilder()
        for slot in 0..<max(slotCount, view.slotCount) {
            if let value = new[slot] { builder.append(value) } else { try builder.append(slot, of: view) }
        }
        return builder.finish()
    }

    func slots(derivedFrom slot: Int) -> [Int] { attributes.filter { $0.inputs.contains(slot) }.map(\.slot) }

    private func value(of attribute: Attribute, in record: RecordView) throws -> Value {
        func invalid(_ reason: String) -> StoreError {
            .invalidValue(entity: entityName, attribute: attribute.name, reason)
        }
        let result: Value?
        do { result = try attribute.expression.value(of: record, as: attribute.type) } catch let error
            as FetchPredicateError
        {
            throw invalid("is derived, and cannot be computed: \(error)")
        }
        guard let value = result else {
            throw invalid("is derived, and the result is not \(attribute.type.nameWithArticle)")
        }
        if value.isUnstorable { throw invalid("is derived, and the result is not a number") }
        if value.isNull && !attribute.isOptional { throw invalid("is derived, and required, and the result is null") }
        return value
    }
}
