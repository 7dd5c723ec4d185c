internal import Bytes

/// Finished records one after the other in memory, in the order in which they are written.
package struct RecordBatch: Sendable {
    private(set) var bytes: [UInt8] = []
    private var ends: [Int] = []

    package init() {}

    package var count: Int { ends.count }
    package var byteCount: Int { bytes.count }

    package mutating func reserve(records: Int, byteCount: Int) {
        ends.reserveCapacity(records)
        bytes.reserveCapacity(byteCount)
    }

    /// Adds what a builder has put together.
    package mutating func append(_ builder: inout RecordBuilder) {
        builder.finish(into: &bytes)
        ends.append(bytes.count)
    }

    package subscript(index: Int) -> RawSpan {
        @_lifetime(borrow self)
        borrowing get { bytes.span.bytes.extracting((index == 0 ? 0 : ends[index - 1])..<ends[index]) }
    }
}
