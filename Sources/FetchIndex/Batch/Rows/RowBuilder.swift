internal import FetchIndexPlatform
internal import FetchIndexRecords
package import FetchIndexValues

/// Puts the values of a row together as a record, in the order of the entity's slots. One builder serves many rows.
package struct RowBuilder {
    var record = RecordBuilder()
    /// What the row leaves to a stored object; nil: nothing.
    var kept: KeptSlots?

    package init() {}

    /// How many slots have a value or null so far.
    package var slotCount: Int { record.slotCount }

    /// Forgets the row before.
    package mutating func begin() {
        record.begin()
        kept = nil
    }

    package mutating func appendNull() { record.appendNull() }

    package mutating func appendInteger(_ number: Int64) { record.appendInteger(number) }

    package mutating func appendDouble(_ number: Double) { record.appendDouble(number) }

    /// The bytes of a string, URL, data, UUID or decimal text.
    package mutating func appendBytes(_ bytes: RawSpan) { record.appendBytes(bytes) }

    package mutating func append(_ value: Value) { record.append(value) }

    /// The finished record.
    package func finish() -> [UInt8] { record.finish() }
}
