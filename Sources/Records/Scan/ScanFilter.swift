/// What a scan may leave out, of the objects of an entity. Used by one thread.
package struct ScanFilter {
    let tests: [ColumnTest]
    /// Objects that are read whatever is known of them. Ascending.
    let alsoRead: [UInt64]
    /// Whether objects whose values lie within bounds are wanted: asked before each zone, because the answer may change while
    /// the scan goes on.
    let mayHave: ((RecordBounds) -> Bool)?

    /// Nil when nothing may be left out.
    package init?(
        _ tests: [ColumnTest], alsoReading objects: some Sequence<UInt64> = [],
        mayHave: ((RecordBounds) -> Bool)? = nil
    ) {
        if tests.isEmpty && mayHave == nil { return nil }
        (self.tests, alsoRead, self.mayHave) = (tests, objects.sorted(), mayHave)
    }
}

/// A test that the objects of a fetch pass, of one text alone.
package struct ColumnTest {
    let slot: Int
    let holdsForNull: Bool
    let holds: (RawSpan) throws -> Bool

    package init(slot: Int, holdsForNull: Bool, _ holds: @escaping (RawSpan) throws -> Bool) {
        (self.slot, self.holdsForNull, self.holds) = (slot, holdsForNull, holds)
    }
}
