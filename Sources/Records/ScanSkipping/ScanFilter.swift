/// Tells a scan which objects of an entity it may leave out. Used by one thread.
package struct ScanFilter {
    let tests: [ColumnTest]
    /// Whether objects whose values lie within bounds are wanted: asked before each zone, because the answer may change while
    /// the scan goes on.
    let mayHave: ((RecordBounds) -> Bool)?

    /// Nil when nothing may be left out.
    package init?(_ tests: [ColumnTest], mayHave: ((RecordBounds) -> Bool)? = nil) {
        if tests.isEmpty && mayHave == nil { return nil }
        (self.tests, self.mayHave) = (tests, mayHave)
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
