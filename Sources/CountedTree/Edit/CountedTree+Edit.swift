internal import FetchIndexPlatform

/// A change of one entry, or a lookup of a key's rank.
package struct TreeEdit {
    package enum Change: Sendable {
        /// Adds an entry. Does nothing if the tree has the key.
        case insert(weight: Int = 1)
        case remove
        /// Changes the weight and the summary of an entry. Does nothing if the tree lacks the key.
        case update(weight: Int = 1)
        /// Only looks up the key's rank.
        case find
    }

    package let key: [UInt8]
    package let change: Change
    /// The new summary of an inserted or updated entry; empty in a tree without summaries.
    package let summary: [UInt8]

    package init(_ key: [UInt8], _ change: Change, summary: [UInt8] = []) {
        self.key = key
        self.change = change
        self.summary = summary
    }
}

/// The ranks of an edit's key before and after all edits. A rank is the number of entries with a lesser key.
package struct EditOutcome: Equatable, Sendable {
    /// The key's rank before all edits.
    package let oldRank: Int
    /// The key's rank after all edits.
    package let newRank: Int
    /// Whether the tree had the key before the edits.
    package let wasPresent: Bool
}

extension CountedTree {
    /// Applies edits to the tree in one descent, and returns the outcome of each. The keys of the edits must ascend
    /// strictly; throws `TreeError` if they don't, since edits may come from a damaged log. O(k log n) for k edits.
    ///
    /// A node that grows too large is split into as many nodes as needed. A changed node that isn't split and is less
    /// than a quarter full is merged with a neighbour below the same branch if both fit into one node and the branch
    /// doesn't become too long.
    @discardableResult
    package mutating func apply(_ edits: [TreeEdit]) throws -> [EditOutcome] {
        guard zip(edits, edits.dropFirst()).allSatisfy({ $0.key.span.bytes.compare($1.key.span.bytes) < 0 }) else {
            throw TreeError.corrupted(node: root.node, "the keys of edits do not ascend")
        }
        var pass = EditPass(tree: self, edits: edits)
        root = try pass.editRoot()
        var added = 0
        return zip(edits, pass.found).map { edit, found in
            let outcome = EditOutcome(oldRank: found.rank, newRank: found.rank + added, wasPresent: found.isPresent)
            switch edit.change {
            case .insert where !found.isPresent: added += 1
            case .remove where found.isPresent: added -= 1
            case .insert, .remove, .update, .find: break
            }
            return outcome
        }
    }

    /// Adds an entry with an empty summary; returns false if the tree has the key. O(log n).
    @discardableResult
    package mutating func insert(_ key: [UInt8], weight: Int = 1) throws -> Bool {
        try !wasPresent(key, .insert(weight: weight))
    }

    /// Removes an entry; returns false if the tree lacks the key. O(log n).
    @discardableResult
    package mutating func remove(_ key: [UInt8]) throws -> Bool { try wasPresent(key, .remove) }

    private mutating func wasPresent(_ key: [UInt8], _ change: TreeEdit.Change) throws -> Bool {
        try apply([TreeEdit(key, change)])[0].wasPresent
    }
}
