internal import FetchIndexPlatform

/// Sums up what the entries of a tree carry besides their weights, for any part of the tree.
///
/// A summary is bytes that only the summarizer understands: of one entry, or of all entries of a part. Summaries form a
/// monoid: neither the grouping nor the order of the parts changes their sum (Hinze and Paterson, Finger trees, 2006).
///
/// A protocol, because the tree knows no values; tests have summarizers of their own.
package protocol Summarizer: Sendable {
    /// The maximum length of a summary in bytes.
    var maximumLength: Int { get }
    func begin() -> any RunningSummary
}

/// A sum that a summarizer has begun.
package protocol RunningSummary: AnyObject {
    /// Adds the summary of an entry or a part. Throws if it's damaged.
    func add(_ summary: RawSpan) throws
    /// Removes the summary of an entry that was added. Returns false if the remainder is unknown, because the removed
    /// value may be the greatest one; then add all remaining summaries to another sum.
    func remove(_ summary: RawSpan) -> Bool
    /// Returns the summary of what was added since the last call, and begins anew.
    func take() -> [UInt8]
}

/// The parts of a tree's cells besides keys and children.
struct CellForm: Equatable, Sendable {
    let isWeighted: Bool
    /// The maximum length of a summary in bytes; nil in a tree without summaries.
    let maximumSummary: Int?

    var hasSummaries: Bool { maximumSummary != nil }
}

extension RunningSummary {
    /// The summary of a part from its old one and the summaries that came and went; nil if it's unknown. Adds what came
    /// first, so that the greatest value may go if a greater one comes.
    package func change(_ old: RawSpan, coming: [[UInt8]], going: [[UInt8]]) throws -> [UInt8]? {
        // Entries only moved within the part.
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
