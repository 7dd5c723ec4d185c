internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexValues

/// The bounds of records' values, by slot. An attribute that was added later is not among the slots.
package struct RecordBounds: Equatable, Sendable {
    private var slots: [ValueBounds]

    /// Of no records.
    init(of entity: Entity) { slots = Self.types(of: entity).map { ValueBounds(of: $0) } }

    /// By slot; nil for those of relationships and of removed attributes.
    static func types(of entity: Entity) -> [ValueType?] {
        var types = [ValueType?](repeating: nil, count: entity.slots.count)
        for slot in entity.attributeSlots { types[slot] = entity.type(at: slot) }
        return types
    }

    /// Of a slot; nil when nothing is known of it.
    package subscript(slot: Int) -> ValueBounds? {
        slots.indices.contains(slot) && slots[slot].type != nil ? slots[slot] : nil
    }

    // MARK: Changes

    /// Includes a record's values. Returns whether that changed the bounds. O(slots).
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

    /// Includes the values of other records. What is not known of these is forgotten.
    mutating func include(_ other: RecordBounds) {
        for slot in slots.indices where slots[slot].type != nil {
            if other.slots.indices.contains(slot), slots[slot].type == other.slots[slot].type {
                slots[slot].include(other.slots[slot])
            } else {
                slots[slot].forget()
            }
        }
    }

    /// Forgets the bounds of slots that do not have the type any more.
    mutating func forgetOthers(than types: [ValueType?]) {
        for slot in slots.indices where slots[slot].type != nil {
            if !types.indices.contains(slot) || types[slot] != slots[slot].type { slots[slot].forget() }
        }
    }

    /// The same without slots that do not have these types any more.
    func of(_ types: [ValueType?]) -> RecordBounds {
        var bounds = self
        bounds.forgetOthers(than: types)
        return bounds
    }

    /// The first slot in which other bounds are not within these; nil when there is none.
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
