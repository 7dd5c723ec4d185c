/// Determines which objects of an entity a scan may skip. Only one thread may use it.
package struct ScanFilter {
    let tests: [ColumnTest]
    /// Returns whether objects with values within the bounds may match. Called before each zone, because the answer may
    /// change during the scan.
    let mayHave: ((RecordBounds) -> Bool)?

    /// Returns nil if nothing can be skipped.
    package init?(_ tests: [ColumnTest], mayHave: ((RecordBounds) -> Bool)? = nil) {
        if tests.isEmpty && mayHave == nil { return nil }
        (self.tests, self.mayHave) = (tests, mayHave)
    }
}

/// A test of one text attribute that all objects of a fetch pass.
package struct ColumnTest {
    let slot: Int
    let holdsForNull: Bool
    let holds: (RawSpan) throws -> Bool

    package init(slot: Int, holdsForNull: Bool, _ holds: @escaping (RawSpan) throws -> Bool) {
        (self.slot, self.holdsForNull, self.holds) = (slot, holdsForNull, holds)
    }
}
