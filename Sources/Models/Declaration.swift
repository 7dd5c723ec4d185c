/// An entity as a program declared it, with the slots that its attributes had then.
package struct Declaration: Hashable, Sendable {
    package let checksum: UInt32
    /// The slots of the attributes, sorted by the attributes' names.
    package let slots: [Int]
}
