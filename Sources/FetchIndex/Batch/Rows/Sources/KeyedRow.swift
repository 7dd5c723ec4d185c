package import FetchIndexValues

/// A row that a source sends for a keyed table.
package struct KeyedRow {
    package let key: Value
    let record: [UInt8]
    /// The slots that the row has no values for; a stored object keeps its values there.
    let kept: Set<Int>
    /// Whether the source left out values that the row has, so that the row can only update an object that has them.
    let isPartial: Bool

    package init(key: Value, record: [UInt8], keeping kept: Set<Int>, isPartial: Bool) {
        (self.key, self.record, self.kept, self.isPartial) = (key, record, kept, isPartial)
    }
}
