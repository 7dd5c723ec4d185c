/// Decides which objects of an entity a scan may skip. A filter is used by one thread at a time.
package struct ScanFilter {
    let tests: [ColumnTest]
    /// Returns whether an object whose values are within the bounds may match. If a part of the scan includes a whole
    /// zone, this is called when the scan reaches the zone, because the answer may change during the scan.
    let mayHave: ((RecordBounds) -> Bool)?

    /// Creates a filter. Returns nil if it couldn't skip any object.
    package init?(_ tests: [ColumnTest], mayHave: ((RecordBounds) -> Bool)? = nil) {
        if tests.isEmpty && mayHave == nil { return nil }
        (self.tests, self.mayHave) = (tests, mayHave)
    }
}

/// A test of a text attribute. A scan may skip the objects that fail the test: none of them matches the fetch.
package struct ColumnTest {
    let slot: Int
    let holdsForNull: Bool
    let holds: (RawSpan) throws -> Bool

    package init(slot: Int, holdsForNull: Bool, _ holds: @escaping (RawSpan) throws -> Bool) {
        (self.slot, self.holdsForNull, self.holds) = (slot, holdsForNull, holds)
    }
}
