package import FetchIndexValues

/// A row of a keyed table, as its source has it.
package struct KeyedRow {
    package let key: Value
    let record: [UInt8]
    /// The slots that the row has no values of: a stored object keeps its own.
    let kept: Set<Int>
    /// Whether the row has values that were not sent, so that it can only change an object that has them.
    let isPartial: Bool

    package init(key: Value, record: [UInt8], keeping kept: Set<Int>, isPartial: Bool) {
        (self.key, self.record, self.kept, self.isPartial) = (key, record, kept, isPartial)
    }
}
