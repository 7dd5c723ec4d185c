/// Decides which objects of an entity a scan may skip. A filter is used by one thread at a time.
package struct ScanFilter {
    let tests: [ColumnTest]
    /// Returns whether an object whose values are within the bounds may match. If a part of the scan includes a whole
    /// zone, this is called when the scan reaches the zone, because the answer may change during the scan.
    let mayHave: ((RecordBounds) -> Bool)?
    /// Whether a zone with the first bounds should be read before one with the second bounds, because its objects make
    /// `mayHave` false for more of the other zones. If it's nil, zones are read by ascending object number.
    let precedes: ((RecordBounds, RecordBounds) -> Bool)?

    /// Creates a filter. Returns nil if it couldn't skip any object.
    package init?(
        _ tests: [ColumnTest], mayHave: ((RecordBounds) -> Bool)? = nil,
        precedes: ((RecordBounds, RecordBounds) -> Bool)? = nil
    ) {
        if tests.isEmpty && mayHave == nil { return nil }
        (self.tests, self.mayHave, self.precedes) = (tests, mayHave, precedes)
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
