internal import FetchIndexPlatform

extension EditPass {
    /// The minimum number of edits to share with another thread.
    private static let fewestForThreads = 256
    /// The maximum number of edits in a part, unless a single child has more. A part is some successive children of the
    /// branch, with the edits below them; one thread edits the whole part.
    private static let editsOfPart = 64
    private static let fewestParts = 4

    /// The parts that one thread has edited.
    private final class Share {
        /// The old nodes, in a store for this thread. Each part has its own fork over them.
        let store: any NodeStore
        var pass: EditPass
        var parts: [(number: Int, children: ArraySlice<EditedChild>, fork: ForkNodeStore)] = []

        init(_ pass: EditPass, over store: any NodeStore) {
            self.pass = pass
            self.store = store
        }
    }

    /// Applies the edits below a branch's children on the two threads of the crew. Returns false, without changing the
    /// tree, if `crew` is nil, if the edits or their parts are too few, if the tree isn't in a fork, or if only one
    /// thread may read its nodes. Each part of the edits has its own fork, so the resulting nodes don't depend on which
    /// thread is faster; but their numbers may have gaps.
    mutating func editWithCrew(_ children: inout [EditedChild], level: Int) throws -> Bool {
        guard let crew, let fork = store as? ForkNodeStore, let first = children.first, let last = children.last,
            last.edits.upperBound - first.edits.lowerBound >= Self.fewestForThreads
        else { return false }
        let parts = Self.parts(of: children)
        guard parts.count >= Self.fewestParts, let other = fork.another() else { return false }
        let shares = [fork, other].map { Share(EditPass(tree: tree, edits: edits), over: $0) }
        try crew.share(parts.count) { thread, number in
            let share = shares[thread]
            let fork = ForkNodeStore(over: share.store, number: number, of: parts.count)
            var children = parts[number]
            share.pass.tree = share.pass.tree.reopened(in: fork)
            try share.pass.edit(&children, level: level)
            share.parts.append((number, children, fork))
        }
        for share in shares {
            for part in share.parts {
                children.replaceSubrange(part.children.indices, with: part.children)
                for child in part.children { takeFound(from: share.pass, child.edits) }
            }
        }
        for part in shares.flatMap(\.parts).sorted(by: { $0.number < $1.number }) { part.fork.publish(to: fork) }
        return true
    }

    private static func parts(of children: [EditedChild]) -> [ArraySlice<EditedChild>] {
        var parts: [ArraySlice<EditedChild>] = []
        var rest = children[...]
        while let first = rest.first {
            let part = rest.prefix { $0.edits.upperBound <= first.edits.lowerBound + editsOfPart }
            parts.append(part.isEmpty ? rest.prefix(1) : part)
            rest = rest.dropFirst(max(part.count, 1))
        }
        return parts
    }
}
