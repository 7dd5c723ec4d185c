/// Computes the derived values of an entity's records.
package protocol RecordCompleter: AnyObject, Sendable {
    /// The record with its derived values; nil when it has them already. Throws `StoreError.invalidValue` for a value that the
    /// attribute cannot have, and what reading the record throws.
    func completed(_ record: RawSpan) throws -> [UInt8]?
    /// The slots whose values follow from a slot's.
    func slots(derivedFrom slot: Int) -> [Int]
}
