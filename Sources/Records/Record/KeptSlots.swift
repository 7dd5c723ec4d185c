/// The slots that a record of a batch leaves out. If the record updates an object, the object keeps its values in these
/// slots. Many records can share one instance.
package final class KeptSlots: Sendable {
    package let slots: Set<Int>
    /// One of the slots whose attribute requires a value; nil if none does. A record without a required value can
    /// update an object, but not insert one.
    package let requiredSlot: Int?

    package init(_ slots: Set<Int>, requiredSlot: Int? = nil) {
        (self.slots, self.requiredSlot) = (slots, requiredSlot)
    }
}
