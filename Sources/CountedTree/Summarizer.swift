internal import FetchIndexPlatform

/// Computes aggregates of a tree's entries, such as sums and maxima, for any part of the tree.
///
/// A summary is bytes that only the summarizer understands: the values of one entry, or the aggregates of all entries
/// of a part. Summaries form a commutative monoid: whatever the parts and their order, adding their summaries gives the
/// same result (Hinze and Paterson, Finger trees, 2006).
///
/// This is a protocol, because the tree doesn't know the types of values; tests have their own summarizers.
package protocol Summarizer: Sendable {
    /// The maximum length of a summary in bytes.
    var maximumLength: Int { get }
    func begin() -> any RunningSummary
}

/// The running total of summaries.
package protocol RunningSummary: AnyObject {
    /// Adds the summary of an entry or a part. Throws if it's damaged.
    func add(_ summary: RawSpan) throws
    /// Subtracts the summary of an entry from a total that includes it. Returns false if the remaining total is
    /// unknown, for example because the removed value may be the greatest one. The caller must then add all remaining
    /// summaries to a new total.
    func remove(_ summary: RawSpan) -> Bool
    /// Returns the summary of everything added since the last call, and resets the total.
    func take() -> [UInt8]
}

/// The optional parts of a tree's cells.
struct CellForm: Equatable, Sendable {
    let isWeighted: Bool
    /// The maximum length of a summary in bytes; nil in a tree without summaries.
    let maximumSummary: Int?

    var hasSummaries: Bool { maximumSummary != nil }
}

extension RunningSummary {
    /// Returns the new summary of a part: `old` with the summaries `coming` added and the summaries `going` removed;
    /// nil if it can't be computed from these. Adds before it removes, so that the greatest value can be removed if a
    /// greater one is added.
    package func change(_ old: RawSpan, coming: [[UInt8]], going: [[UInt8]]) throws -> [UInt8]? {
        // The entries only moved within the part.
        if coming == going { return [UInt8](copying: old) }
        try add(old)
        for summary in coming { try add(summary.span.bytes) }
        for summary in going where !remove(summary.span.bytes) {
            _ = take()
            return nil
        }
        return take()
    }
}
