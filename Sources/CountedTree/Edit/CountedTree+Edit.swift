package import FetchIndexPlatform

/// A change of one entry, or a lookup of its rank.
package struct TreeEdit {
    package enum Change: Sendable {
        /// Adds an entry; an existing one stays as it is.
        case insert(weight: Int = 1)
        case remove
        /// Changes the weight and the summary of an existing entry.
        case update(weight: Int = 1)
        /// Changes nothing, but looks up the rank.
        case find
    }

    package let key: [UInt8]
    package let change: Change
    /// The summary of an inserted or updated entry, in a tree with summaries.
    package let summary: [UInt8]

    package init(_ key: [UInt8], _ change: Change, summary: [UInt8] = []) {
        self.key = key
        self.change = change
        self.summary = summary
    }
}

/// The rank of an edit's key, the number of entries with a lesser key.
package struct EditOutcome: Equatable, Sendable {
    /// The rank before all edits.
    package let oldRank: Int
    /// The rank after all edits.
    package let newRank: Int
    /// Whether the tree had the key before the edits.
    package let wasPresent: Bool
}

extension CountedTree {
    /// Applies all edits in one pass that rewrites each node at most once, and returns the ranks of each key. Throws
    /// `TreeError` unless the keys ascend strictly: those of a damaged log may not. O(k log n).
    ///
    /// A node that grows too large is split into as many as needed; neighbours are merged if one of them is less than a
    /// quarter full and both fit into one node. A crew shares the work if the tree is in a fork.
    @discardableResult
    package mutating func apply(_ edits: [TreeEdit], with crew: Crew? = nil) throws -> [EditOutcome] {
        guard zip(edits, edits.dropFirst()).allSatisfy({ $0.key.span.bytes.compare($1.key.span.bytes) < 0 }) else {
            throw TreeError.corrupted(node: root.node, "the keys of edits do not ascend")
        }
        var pass = EditPass(tree: self, edits: edits, with: crew)
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

    /// The ranks of keys, given as `find` edits that ascend strictly. O(k log n).
    package func ranks(of finds: [TreeEdit]) throws -> [EditOutcome] {
        var fork = reopened(in: ForkNodeStore(over: store))
        return try fork.apply(finds)
    }

    /// Adds an entry; returns false if the tree has the key. O(log n).
    @discardableResult
    package mutating func insert(_ key: [UInt8], weight: Int = 1) throws -> Bool {
        try !wasPresent(key, .insert(weight: weight))
    }

    /// Removes an entry; returns false if the tree lacks the key. O(log n).
    @discardableResult
    package mutating func remove(_ key: [UInt8]) throws -> Bool { try wasPresent(key, .remove) }

    /// Changes the weight of an entry; returns false if the tree lacks the key. O(log n).
    @discardableResult
    package mutating func setWeight(_ weight: Int, of key: [UInt8]) throws -> Bool {
        try wasPresent(key, .update(weight: weight))
    }

    private mutating func wasPresent(_ key: [UInt8], _ change: TreeEdit.Change) throws -> Bool {
        try apply([TreeEdit(key, change)])[0].wasPresent
    }
}
