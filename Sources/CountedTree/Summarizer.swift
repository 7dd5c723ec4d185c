/// Sums up what the entries of a tree carry besides their weights, for any part of the tree.
///
/// A summary is bytes that only the summarizer understands: of one entry, or of all entries of a part. Summaries form a
/// monoid: neither the grouping nor the order of the parts changes their sum (Hinze and Paterson, Finger trees, 2006).
package protocol Summarizer: Sendable {
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
    let hasSummaries: Bool
}
