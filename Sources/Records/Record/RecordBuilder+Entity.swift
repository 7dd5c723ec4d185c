package import FetchIndexModels
package import FetchIndexValues

// Records of an entity's objects.
extension RecordBuilder {
    /// Assembles a record of an entity. The values are in the order of the entity's attributes; attributes left out at
    /// the end get their default values. Throws `invalidValue` if a value has another type, is a decimal NaN, or is
    /// null although it's required and not derived.
    package mutating func record(_ values: [Value], of entity: Entity) throws -> [UInt8] {
        try assemble(values, of: entity)
        return finish()
    }

    /// Assembles a record like `record(_:of:)`, but doesn't finish it. Slots of removed attributes and of relationships
    /// are set to their values in `others`, or to null.
    package mutating func assemble(_ values: [Value], of entity: Entity, others: [Int: Value] = [:]) throws {
        begin()
        func other(_ slot: Int) -> Value { others.isEmpty ? .null : others[slot] ?? .null }
        for (index, rule) in entity.valueRules.enumerated() {
            while slotCount < rule.slot { append(other(slotCount)) }
            if index < values.count, rule.allows(values[index]) {
                append(values[index])
                continue
            }
            let attribute = entity.attributes[index]
            let value = index < values.count ? values[index] : attribute.defaultValue
            try entity.validate(value, of: attribute)
            append(value)
        }
        while slotCount < entity.slots.count { append(other(slotCount)) }
    }

    /// Appends the value that another record has in a slot, which may be null.
    package mutating func append(_ slot: Int, of record: RecordView) throws {
        if let range = try record.range(of: slot) { appendBytes(record.bytes(range)) } else { appendNull() }
    }
}

extension ValueRule {
    /// Whether `Entity.validate` accepts the value.
    fileprivate func allows(_ value: Value) -> Bool {
        guard let type = value.type else { return !isRequired }
        return type == self.type && !value.isUnstorable
    }
}

extension Entity {
    /// Throws `invalidValue` unless an attribute can have the value.
    package func validate(_ value: Value, of attribute: AttributeDescription) throws {
        func invalid(_ reason: String) -> StoreError {
            .invalidValue(entity: name, attribute: attribute.name, reason)
        }
        if let type = value.type {
            guard type == attribute.type else {
                throw invalid("is \(attribute.type.nameWithArticle), not \(type.nameWithArticle)")
            }
            if value.isUnstorable { throw invalid("is not a number") }
        } else if !attribute.isOptional && attribute.derivation == nil {
            throw invalid("is required")
        }
    }

    /// A record with values in the order of the attributes, like that of `RecordBuilder.record(_:of:)`.
    package func record(_ values: [Value]) throws -> [UInt8] {
        var builder = RecordBuilder()
        return try builder.record(values, of: self)
    }

    /// A copy of the new record, with the old record's values in `slots`.
    package func record(from new: RawSpan, keeping slots: Set<Int>, of old: RawSpan) throws -> [UInt8] {
        let (old, new) = (try RecordView(old, of: self), try RecordView(new, of: self))
        var builder = RecordBuilder()
        for slot in self.slots.indices { try builder.append(slot, of: slots.contains(slot) ? old : new) }
        return builder.finish()
    }

    /// The values of a record in the order of the attributes.
    package func values(of record: RawSpan) throws -> [Value] {
        let view = try RecordView(record, of: self)
        return try attributeSlots.map { try view.value(at: $0, as: type(at: $0)) }
    }

    /// The values of a record by slot. Slots of removed attributes have null.
    package func valuesBySlot(of record: RawSpan) throws -> [Value] {
        let view = try RecordView(record, of: self)
        return try slots.indices.map { slot in
            slots[slot].isRemoved ? .null : try view.value(at: slot, as: attribute(at: slot).type)
        }
    }

    /// The entity with its `missingValues`: a record of the attributes' default values, which is empty if all are null.
    func withMissingValues() -> Entity {
        guard slots.contains(where: { !$0.attribute.defaultValue.isNull }) else { return self }
        var entity = self
        var builder = RecordBuilder()
        for slot in slots { builder.append(slot.attribute.defaultValue) }
        entity.missingValues = builder.finish()
        return entity
    }
}

extension Model {
    /// The model with the `missingValues` of its entities.
    func withMissingValues() -> Model {
        var model = self
        for number in model.entities.indices { model.entities[number] = model.entities[number].withMissingValues() }
        return model
    }
}
