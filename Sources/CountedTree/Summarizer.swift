internal import FetchIndexPlatform

/// Sums up what the entries of a tree carry besides their weights, for any part of the tree.
///
/// A summary is bytes that only the summarizer understands: of one entry, or of all entries of a part. Summaries form a
/// monoid: neither the grouping nor the order of the parts changes their sum (Hinze and Paterson, Finger trees, 2006).
package protocol Summarizer: Sendable {
    /// The most bytes that a summary may take.
    var maximumLength: Int { get }
    func begin() -> any RunningSummary
}

package protocol RunningSummary: AnyObject {
    /// Adds the summary of an entry or a part. Throws when it is damaged.
    func add(_ summary: RawSpan) throws
    /// Takes the summary of an entry away that is among those that were added. False when what is left is unknown, because the
    /// greatest value may be the one that went; then add all that is left to another one.
    func remove(_ summary: RawSpan) -> Bool
    /// The summary of what was added since the last call.
    func take() -> [UInt8]
}

/// What the cells of a tree have besides keys and children.
struct CellForm: Equatable, Sendable {
    let isWeighted: Bool
    /// The most bytes that a summary takes; nil in a tree without summaries.
    let maximumSummary: Int?

    var hasSummaries: Bool { maximumSummary != nil }
}

extension RunningSummary {
    /// The summary of a part from its old one and those of what came and went; nil when it is unknown. What came is added first, so
    /// that the greatest value may go when a greater one comes.
    package func change(_ old: RawSpan, coming: [[UInt8]], going: [[UInt8]]) throws -> [UInt8]? {
        // Entries that moved within the part.
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
