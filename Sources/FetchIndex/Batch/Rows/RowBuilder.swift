internal import FetchIndexRecords
package import FetchIndexValues

/// Assembles a record from the values of a row, in the order of the entity's slots. One builder serves many rows.
package struct RowBuilder {
    var record = RecordBuilder()
    /// The slots that the row leaves to a stored object; nil if it leaves none.
    var kept: KeptSlots?

    package init() {}

    /// The number of slots that have a value or null so far.
    package var slotCount: Int { record.slotCount }

    /// Begins a new row.
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

    /// Returns the finished record.
    package func finish() -> [UInt8] { record.finish() }
}
