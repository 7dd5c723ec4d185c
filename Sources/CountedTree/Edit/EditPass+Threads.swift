internal import SystemBasics

extension EditPass {
    /// Fewer edits cost less than telling another thread of them.
    static let fewestForThreads = 256
    /// How many edits a thread takes at a time.
    private static let editsOfPart = 64
    private static let fewestParts = 4

    /// What one thread has done: the edits below some children of a branch.
    private final class Share {
        var pass: EditPass
        let fork: ForkNodeStore
        var children: [ArraySlice<EditedChild>] = []

        init(_ pass: EditPass, in fork: ForkNodeStore) {
            self.pass = pass
            self.fork = fork
        }
    }

    /// Makes the edits below a branch's children on the threads of a crew. False, and nothing is done, without a crew, for few edits or
    /// children, and where the nodes are not in a fork or one thread alone may read them.
    mutating func editWithCrew(_ children: inout [EditedChild], level: Int) throws -> Bool {
        guard let crew, let fork = store as? ForkNodeStore, let first = children.first, let last = children.last,
            last.edits.upperBound - first.edits.lowerBound >= Self.fewestForThreads
        else { return false }
        var parts: [ArraySlice<EditedChild>] = []
        var rest = children[...]
        while let first = rest.first {
            let part = rest.prefix { $0.edits.upperBound <= first.edits.lowerBound + Self.editsOfPart }
            parts.append(part.isEmpty ? rest.prefix(1) : part)
            rest = rest.dropFirst(max(part.count, 1))
        }
        if parts.count < Self.fewestParts { return false }
        let shares = fork.forksForThreads().map { fork in
            Share(EditPass(tree: tree.reopened(in: fork), edits: edits), in: fork)
        }
        if shares.count < 2 { return false }
        try crew.share(parts.count) { thread, part in
            var part = parts[part]
            try shares[thread].pass.edit(&part, level: level)
            shares[thread].children.append(part)
        }
        for share in shares {
            share.fork.publish(to: fork)
            for part in share.children {
                children.replaceSubrange(part.indices, with: part)
                for child in part { takeFound(from: share.pass, child.edits) }
            }
        }
        return true
    }
}
