package import FetchIndexValues

/// A row that a source sends for a keyed table.
package struct KeyedRow {
    /// The values of the key, in the order of the table's key slots.
    package let key: [Value]
    let record: [UInt8]
    /// The slots for which the row has no values; a stored object keeps its values there.
    let kept: Set<Int>
    /// Whether the source's row has values that the source didn't send, so that this row can only update an object that
    /// has these values.
    let isPartial: Bool

    package init(key: [Value], record: [UInt8], keeping kept: Set<Int>, isPartial: Bool) {
        (self.key, self.record, self.kept, self.isPartial) = (key, record, kept, isPartial)
    }
}
