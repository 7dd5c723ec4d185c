/// The slots that a record of a batch says nothing of: a stored object keeps its values there. Many records share one.
package final class KeptSlots: Sendable {
    package let slots: Set<Int>
    /// A slot of these that an object must have a value in: the record can update an object, but makes none.
    package let requiredSlot: Int?

    package init(_ slots: Set<Int>, requiredSlot: Int? = nil) {
        (self.slots, self.requiredSlot) = (slots, requiredSlot)
    }
}
