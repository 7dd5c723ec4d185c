internal import FetchIndexPlatform

/// Computes aggregates of a tree's entries, such as sums and maxima, for any range of ranks.
///
/// A summary is bytes that only the summarizer understands: the values of one entry, or the aggregates of several
/// entries. Summaries form a commutative monoid: however the entries are grouped and ordered, adding up their summaries
/// gives the same result (Hinze and Paterson, Finger trees, 2006).
///
/// This is a protocol, because the tree doesn't know the types of values; tests have their own summarizers.
package protocol Summarizer: Sendable {
    /// The maximum length of a summary in bytes.
    var maximumLength: Int { get }
    func begin() -> any RunningSummary
}

/// The running total of summaries.
///
/// This is a protocol for the reason of `Summarizer`: the total has the types of its values.
package protocol RunningSummary: AnyObject {
    /// Adds a summary of one or several entries. Throws if the summary turns out to be damaged.
    func add(_ summary: RawSpan) throws
    /// Subtracts the summary of an entry from a total that includes it. Returns false if the remaining total is
    /// unknown, for example because the removed value may be the greatest one. The caller must then add all remaining
    /// summaries to a new total.
    func remove(_ summary: RawSpan) -> Bool
    /// Returns the total as a summary, and resets it.
    func take() -> [UInt8]
}

/// The optional fields of a tree's cells.
struct CellForm: Equatable, Sendable {
    let isWeighted: Bool
    /// The maximum length of a summary in bytes; nil in a tree without summaries.
    let maximumSummary: Int?

    var hasSummaries: Bool { maximumSummary != nil }
}

extension RunningSummary {
    /// Returns the new summary of some entries: `old` plus the summaries in `coming`, minus those in `going`. Returns
    /// nil if the new summary can't be computed from these. Adds before it removes, so that the greatest value can be
    /// removed if a greater one is added.
    package func change(_ old: RawSpan, coming: [[UInt8]], going: [[UInt8]]) throws -> [UInt8]? {
        // If both lists are equal, the sum stays the same.
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
