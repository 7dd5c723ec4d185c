internal import FetchIndexRecords
package import FetchIndexValues

/// Assembles a record from the values of a row, in the order of the entity's slots. One builder serves many rows.
package struct RowBuilder {
    var record = RecordBuilder()
    /// The slots that the row leaves out, in which a stored object keeps its values; nil if the row has all slots.
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

    /// Appends the bytes of a string, a URL, data, a UUID or a decimal number's text.
    package mutating func appendBytes(_ bytes: RawSpan) { record.appendBytes(bytes) }

    package mutating func append(_ value: Value) { record.append(value) }

    /// Returns the finished record.
    package func finish() -> [UInt8] { record.finish() }
}
