internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexValues

/// The bounds of the values of some records, by slot. If an attribute is added to the entity later, its slot is
/// missing.
package struct RecordBounds: Equatable, Sendable {
    private var slots: [ValueBounds]

    /// The bounds of no records: they include no values.
    init(of entity: Entity) { slots = Self.types(of: entity).map { ValueBounds(of: $0) } }

    /// The types of an entity's attributes, by slot; nil for slots of relationships and of removed attributes.
    static func types(of entity: Entity) -> [ValueType?] {
        var types = [ValueType?](repeating: nil, count: entity.slots.count)
        for slot in entity.attributeSlots { types[slot] = entity.type(at: slot) }
        return types
    }

    /// The bounds of a slot; nil if they are unknown.
    package subscript(slot: Int) -> ValueBounds? {
        slots.indices.contains(slot) && slots[slot].type != nil ? slots[slot] : nil
    }

    // MARK: Changes

    /// Includes the values of a record. Returns whether that changed the bounds. O(slots).
    mutating func include(_ record: RawSpan, missing: RawSpan) throws -> Bool {
        try include(RecordView(record, missing: missing))
    }

    @discardableResult
    @inline(__always)
    mutating func include(_ record: borrowing RecordView) throws -> Bool {
        var isChanged = false
        try slots.withUnsafeMutableBufferPointer { slots in
            for slot in slots.indices where try slots[slot].include(slot, of: record) { isChanged = true }
        }
        return isChanged
    }

    /// Includes the bounds of other records. The bounds of a slot become unknown if they are unknown for the other
    /// records, or of another type.
    mutating func include(_ other: RecordBounds) {
        for slot in slots.indices where slots[slot].type != nil {
            if other.slots.indices.contains(slot), slots[slot].type == other.slots[slot].type {
                slots[slot].include(other.slots[slot])
            } else {
                slots[slot].forget()
            }
        }
    }

    /// Makes the bounds of a slot unknown if the slot's type is no longer the one in `types`.
    mutating func forgetOthers(than types: [ValueType?]) {
        for slot in slots.indices where slots[slot].type != nil {
            if !types.indices.contains(slot) || types[slot] != slots[slot].type { slots[slot].forget() }
        }
    }

    /// A copy of these bounds, in which the bounds of a slot are unknown if the slot's type is no longer the one in
    /// `types`.
    func of(_ types: [ValueType?]) -> RecordBounds {
        var bounds = self
        bounds.forgetOthers(than: types)
        return bounds
    }

    /// The first slot for which the other bounds exceed these bounds; nil if there isn't one.
    func firstSlot(exceededBy other: RecordBounds) -> Int? {
        slots.indices.first { other.slots.indices.contains($0) && !slots[$0].contains(other.slots[$0]) }
    }

    // MARK: Bytes

    init(_ reader: inout ByteReader) throws {
        let count = try reader.count()
        slots = []
        slots.reserveCapacity(count)
        for _ in 0..<count { slots.append(try ValueBounds(&reader)) }
    }

    func append(to bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(slots.count))
        for slot in slots { slot.append(to: &bytes) }
    }
}
