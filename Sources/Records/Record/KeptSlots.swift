/// The slots that a record of a batch leaves out: a stored object keeps its values there. Many records share one
/// instance.
package final class KeptSlots: Sendable {
    package let slots: Set<Int>
    /// One of these slots that requires a value, if any: the record can update an object, but cannot insert one.
    package let requiredSlot: Int?

    package init(_ slots: Set<Int>, requiredSlot: Int? = nil) {
        (self.slots, self.requiredSlot) = (slots, requiredSlot)
    }
}
