internal import FetchIndexModels
internal import FetchIndexRecords

extension SavePlan {
    /// Throws if a record lacks a required value. A missing required reference is an error only if `isComplete` is
    /// true: all objects to which the record refers have been inserted.
    func requireValues(of object: ManagedObject, in record: [UInt8], isComplete: Bool) throws {
        let entity = object.entity
        let view = try RecordView(record.span.bytes, of: entity)
        var missing = try object.entity.attributeSlots.filter { slot in
            try !object.entity.attribute(at: slot).isOptional && view.range(of: slot) == nil
        }
        for reference in entity.links?.references ?? [] where !reference.isOptional && isComplete {
            if try view.range(of: reference.slot) == nil { missing.append(reference.slot) }
        }
        if missing.isEmpty { return }
        throw ValidationError(
            failures: missing.map { object.failure(object.entity.attribute(at: $0).name, "is required") })
    }

    /// Runs a body, and converts store errors about the object's values to a `ValidationError` that names the object.
    func named(_ object: ManagedObject, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch StoreError.notUnique(_, let attribute, let value) {
            throw ValidationError(failures: [
                object.failure(
                    attribute,
                    "must be unique\(attribute.contains(", ") ? " together" : ""), but another object has \"\(value)\""
                )
            ])
        } catch StoreError.invalidValue(_, let attribute, let reason) {
            throw ValidationError(failures: [object.failure(attribute, reason)])
        } catch StoreError.uniqueValueTooLong(_, let attribute) {
            throw ValidationError(failures: [
                object.failure(
                    attribute,
                    "is too long: its unique key would exceed 511 bytes (a single value of up to 500 bytes without zero bytes always fits)"
                )
            ])
        }
    }
}
