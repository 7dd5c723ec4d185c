internal import FetchIndexModels
internal import FetchIndexPredicates
internal import FetchIndexValues

extension Entity {
    /// Computes a record's derived values. Returns the record with them; nil if it has them already, or if the entity
    /// has no derived attributes. Throws, for example `StoreError.invalidValue` if a value can't be computed or the
    /// attribute can't have it.
    package func completed(_ record: RawSpan) throws -> [UInt8]? {
        guard let attributes = try derivations?.attributes.get() else { return nil }
        let view = try RecordView(record, of: self)
        var new: [Int: Value] = [:]
        for attribute in attributes {
            let value = try value(of: attribute, in: view)
            if try view.slotCount <= attribute.slot || view.value(at: attribute.slot, as: attribute.type) != value {
                new[attribute.slot] = value
            }
        }
        if new.isEmpty { return nil }
        var builder = RecordBuilder()
        for slot in 0..<max(slots.count, view.slotCount) {
            if let value = new[slot] { builder.append(value) } else { try builder.append(slot, of: view) }
        }
        return builder.finish()
    }

    private func value(of attribute: Derivations.Attribute, in record: RecordView) throws -> Value {
        func invalid(_ reason: String) -> StoreError {
            .invalidValue(entity: name, attribute: attribute.name, reason)
        }
        let result: Value?
        do { result = try attribute.expression.value(of: record, as: attribute.type) } catch let error
            as FetchPredicateError
        {
            throw invalid("is derived, but cannot be computed: \(error)")
        }
        guard let value = result else {
            throw invalid("is derived, but the result is not \(attribute.type.nameWithArticle)")
        }
        if value.isUnstorable { throw invalid("is derived, but the result is not a number") }
        if value.isNull && !attribute.isOptional { throw invalid("is derived and required, but the result is null") }
        return value
    }
}
