internal import Bytes
package import Models
internal import SystemBasics
package import Values

/// Assembles a record from values in the order of their slots. One builder serves many records.
package struct RecordBuilder {
    private struct End {
        let offset: UInt32
        let isNull: Bool
    }

    /// Where each value ends, in the order of the slots.
    private var ends: [End] = []
    /// How many slots have a value or null so far. Behind their ends there may be some of the record before.
    package private(set) var slotCount = 0
    private var values = ReusedBytes()
    private var finished: [UInt8] = []

    package init() {}

    /// A record without values: an object has the default values of its entity.
    package static let empty: [UInt8] = {
        var builder = RecordBuilder()
        return builder.finish()
    }()

    /// With room for one record of some slots and bytes.
    package init(slots: Int, byteCount: Int) {
        ends.reserveCapacity(slots)
        values = ReusedBytes(capacity: byteCount)
        finished.reserveCapacity(byteCount)
    }

    package mutating func begin() {
        slotCount = 0
        values.removeAll()
    }

    package mutating func appendNull() { endValue(isNull: true) }

    package mutating func appendInteger(_ number: Int64) {
        // With one bit for the sign; zero takes no byte.
        let bits = Int64.bitWidth - (number ^ (number >> 63)).leadingZeroBitCount + 1
        let length = number == 0 ? 0 : (bits + 7) / 8
        withUnsafeBytes(of: number.littleEndian) { values.append(UnsafeRawBufferPointer(rebasing: $0[..<length])) }
        endValue(isNull: false)
    }

    package mutating func appendDouble(_ number: Double) {
        withUnsafeBytes(of: number.bitPattern.littleEndian) { values.append($0) }
        endValue(isNull: false)
    }

    package mutating func appendBoolean(_ value: Bool) {
        withUnsafeBytes(of: value ? 1 as UInt8 : 0) { values.append($0) }
        endValue(isNull: false)
    }

    /// The bytes of a string, URL, data, UUID or decimal text.
    package mutating func appendBytes(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { values.append($0) }
        endValue(isNull: false)
    }

    package mutating func append(_ value: Value) {
        switch value {
        case .null: appendNull()
        case .boolean(let value): appendBoolean(value)
        case .integer(let value): appendInteger(value)
        case .double(let value): appendDouble(value)
        case .date(let value): appendDouble(value.timeIntervalSinceReferenceDate)
        case .string(let value): appendUTF8(value)
        case .url(let value): appendUTF8(value.absoluteString)
        case .decimal(let value): appendUTF8(value.description)
        case .data(let value):
            value.withUnsafeBytes { values.append($0) }
            endValue(isNull: false)
        case .uuid(let value):
            withUnsafeBytes(of: value.uuid) { values.append($0) }
            endValue(isNull: false)
        }
    }

    private mutating func appendUTF8(_ text: String) {
        var text = text
        text.withUTF8 { values.append(UnsafeRawBufferPointer($0)) }
        endValue(isNull: false)
    }

    private mutating func endValue(isNull: Bool) {
        let end = End(offset: UInt32(truncatingIfNeeded: values.count), isNull: isNull)
        if slotCount < ends.count { ends[slotCount] = end } else { ends.append(end) }
        slotCount += 1
    }

    /// The finished record.
    package mutating func finish() -> [UInt8] {
        finished.removeAll(keepingCapacity: true)
        finish(into: &finished)
        return finished
    }

    /// Appends the finished record. Records have 4 GiB at most (and LMDB's values less than that).
    func finish(into finished: inout [UInt8]) {
        // From pointers, and in memory of its own first: arrays that a closure retains, and zeros that are appended before they are
        // written over, would cost more than the copy.
        ends.withUnsafeBufferPointer { ends in
            let ends = UnsafeBufferPointer(rebasing: ends[..<slotCount])
            values.bytes.withUnsafeBytes { values in
                let length = Self.length(ends, values)
                withUnsafeTemporaryAllocation(byteCount: length, alignment: 8) { record in
                    Self.write(ends, values, to: record)
                    finished.append(contentsOf: UnsafeRawBufferPointer(record))
                }
            }
        }
    }

    /// The bytes that an end takes.
    private static func width(_ values: UnsafeRawBufferPointer) -> Int {
        values.count < 1 << 8 ? 1 : values.count < 1 << 16 ? 2 : 4
    }

    /// Of a record, with its checksum.
    private static func length(_ ends: UnsafeBufferPointer<End>, _ values: UnsafeRawBufferPointer) -> Int {
        RecordLayout.headerLength + RecordLayout.nullBitmapLength(slots: ends.count) + width(values) * ends.count
            + values.count + RecordLayout.checksumLength
    }

    private static func write(
        _ ends: UnsafeBufferPointer<End>, _ values: UnsafeRawBufferPointer, to record: UnsafeMutableRawBufferPointer
    ) {
        let width = width(values)
        let endsStart = RecordLayout.headerLength + RecordLayout.nullBitmapLength(slots: ends.count)
        let valuesStart = endsStart + width * ends.count
        let length = valuesStart + values.count
        record[0] = UInt8(width)
        record.storeBytes(of: UInt16(truncatingIfNeeded: ends.count).littleEndian, toByteOffset: 1, as: UInt16.self)
        for place in RecordLayout.headerLength..<endsStart { record[place] = 0 }
        for (slot, end) in ends.enumerated() {
            if end.isNull { record[RecordLayout.headerLength + slot >> 3] |= 1 << UInt8(slot & 7) }
            let (place, offset) = (endsStart + width * slot, end.offset)
            switch width {
            case 1: record[place] = UInt8(offset)
            case 2: record.storeBytes(of: UInt16(offset).littleEndian, toByteOffset: place, as: UInt16.self)
            default: record.storeBytes(of: offset.littleEndian, toByteOffset: place, as: UInt32.self)
            }
        }
        UnsafeMutableRawBufferPointer(rebasing: record[valuesStart...]).copyMemory(from: values)
        let checksum = UnsafeRawBufferPointer(rebasing: record[..<length]).bytes.checksum
        record.storeBytes(of: checksum.littleEndian, toByteOffset: length, as: UInt32.self)
    }
}

extension RecordBuilder {
    /// A record of an entity with values in the order of its attributes; those that are left out at the end have their
    /// default values. Throws when a value has another type or a required one is null.
    package mutating func record(_ values: [Value], of entity: Entity) throws -> [UInt8] {
        begin()
        for (index, rule) in entity.valueRules.enumerated() {
            // Slots of removed attributes.
            while slotCount < rule.slot { appendNull() }
            if index < values.count, rule.allows(values[index]) {
                append(values[index])
                continue
            }
            let attribute = entity.attributes[index]
            let value = index < values.count ? values[index] : attribute.defaultValue
            try entity.validate(value, of: attribute)
            append(value)
        }
        while slotCount < entity.slots.count { appendNull() }
        return finish()
    }

    /// Appends a slot's value of another record, or null.
    package mutating func append(_ slot: Int, of record: RecordView) throws {
        if let range = try record.range(of: slot) { appendBytes(record.bytes(range)) } else { appendNull() }
    }
}

extension ValueRule {
    /// What `Entity.validate` does not throw for.
    fileprivate func allows(_ value: Value) -> Bool {
        guard let type = value.type else { return !isRequired }
        return type == self.type && !value.isUnstorable
    }
}

extension Entity {
    /// Throws unless a value can be stored as an attribute's.
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

    /// One record, as `RecordBuilder` makes it.
    package func record(_ values: [Value]) throws -> [UInt8] {
        var builder = RecordBuilder()
        return try builder.record(values, of: self)
    }

    /// A record with some slots' values of an older one.
    package func record(from new: RawSpan, keeping slots: Set<Int>, of old: RawSpan) throws -> [UInt8] {
        let (old, new) = (try RecordView(old, of: self), try RecordView(new, of: self))
        var builder = RecordBuilder()
        for slot in self.slots.indices { try builder.append(slot, of: slots.contains(slot) ? old : new) }
        return builder.finish()
    }

    /// The values of a record in the order of the attributes.
    package func values(of record: RawSpan) throws -> [Value] {
        let view = try RecordView(record, of: self)
        return try zip(attributeSlots, attributes).map { try view.value(at: $0, as: $1.type) }
    }

    /// The values of a record by slot; null for removed attributes.
    package func valuesBySlot(of record: RawSpan) throws -> [Value] {
        let view = try RecordView(record, of: self)
        return try slots.indices.map { slot in
            slots[slot].isRemoved ? .null : try view.value(at: slot, as: attribute(at: slot).type)
        }
    }

    /// The entity with the record that its `missingValues` are.
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
    /// The model with the records that the `missingValues` of its entities are.
    func withMissingValues() -> Model {
        var model = self
        for number in model.entities.indices { model.entities[number] = model.entities[number].withMissingValues() }
        return model
    }
}
