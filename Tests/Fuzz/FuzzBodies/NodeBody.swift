import FetchIndexPlatform
import FetchIndexCountedTree

/// The nodes of a counted tree, and edits of it.
///
///     level of the root 1 | flags 1 | root node 1 | entries 2 | weight 2 | edits 1 | edit x edits | node, up to 8 times
///     edit  change 1 | [weight 1] | length 1 | key
///     node  length 2 | bytes
///
/// Flags: 1, the tree is weighted; only then edits have a weight. Numbers are little-endian.
enum NodeBody {
    private static let capacity = 256
    /// The maximum number of entries in a walk. A damaged tree may claim any number of entries.
    private static let longestWalk = 2000

    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let level = Int(reader.byte())
        let isWeighted = reader.byte() & 1 == 1
        let node = NodeNumber(reader.byte())
        let (count, weight) = (reader.number(), reader.number())
        let edits = edits(&reader, isWeighted: isWeighted)
        let store = MemoryNodeStore(capacity: capacity)
        for number in NodeNumber(1)...8 where !reader.isAtEnd { store.write(number, reader.bytes(reader.number())) }
        let measure = Measure(count: count, weight: isWeighted ? weight : count)
        let root = TreeRoot(node: node, level: level, measure: measure, isWeighted: isWeighted)
        let tree = CountedTree(in: store, root: root)
        let isWhole = tree.check().isEmpty
        _ = tree.dump()
        read(tree, edits, isWhole: isWhole)
        edit(tree, edits, isWhole: isWhole)
    }

    /// Edits with ascending keys.
    private static func edits(_ reader: inout InputReader, isWeighted: Bool) -> [TreeEdit] {
        var changes: [[UInt8]: TreeEdit.Change] = [:]
        for _ in 0..<reader.byte() % 16 {
            let kind = reader.byte()
            let weight = isWeighted ? Int(reader.byte()) : 1
            let key = reader.bytes(Int(reader.byte()))
            switch kind % 4 {
            case 0: changes[key] = .insert(weight: weight)
            case 1: changes[key] = .remove
            case 2: changes[key] = isWeighted ? .update(weight: weight) : .find
            default: changes[key] = .find
            }
        }
        return changes.keys.sorted { $0.lexicographicallyPrecedes($1) }.map { TreeEdit($0, changes[$0] ?? .find) }
    }

    /// Runs a body. Returns nil if the body throws, which it must not for a tree without defects.
    private static func attempt<Result>(_ isWhole: Bool, _ what: String, _ body: () throws -> Result) -> Result? {
        do { return try body() } catch {
            precondition(!isWhole, "\(what) of a whole tree: \(error)")
            return nil
        }
    }

    private static func read(_ tree: CountedTree, _ edits: [TreeEdit], isWhole: Bool) {
        let forward = walked(tree, from: 0, .forward, isWhole)
        let backward = walked(tree, from: tree.count - 1, .backward, isWhole)
        if isWhole && tree.count <= longestWalk {
            precondition(forward.count == tree.count && forward == backward.reversed(), "two walks differ")
        }
        _ = walked(tree, from: tree.count / 2, .forward, isWhole)
        for rank in stride(from: 0, to: tree.count, by: max(1, tree.count / 16)) {
            let key = attempt(isWhole, "select") { () -> [UInt8] in
                var key: [UInt8] = []
                try tree.entry(at: rank) { entry, _ in key = [UInt8](copying: entry.key) }
                return key
            }
            guard isWhole, let key else { continue }
            let found = attempt(isWhole, "rank") { try tree.rank(of: key.span.bytes) }
            precondition(found?.before.count == rank && found?.isPresent == true, "rank and select differ")
        }
        for weight in stride(from: 0, to: tree.weight, by: max(1, tree.weight / 16)) {
            attempt(isWhole, "select by weight") { try tree.entry(atWeight: weight) { _, _ in } }
        }
        for edit in edits {
            let key = edit.key
            _ = attempt(isWhole, "rank") { try tree.rank(of: key.span.bytes) }
            _ = attempt(isWhole, "find") { try tree.firstEntry(from: key.span.bytes) { _, _ in } }
        }
    }

    private static func walked(
        _ tree: CountedTree, from rank: Int, _ direction: Direction, _ isWhole: Bool
    ) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        attempt(isWhole, "walk") {
            try tree.walk(from: rank, direction) { entry in
                keys.append([UInt8](copying: entry.key))
                return keys.count < longestWalk
            }
        }
        return keys
    }

    /// Applies all edits together in one fork, and one after the other in a second fork. Both ways must keep a sound
    /// tree sound, and give the same keys, count and weight.
    private static func edit(_ tree: CountedTree, _ edits: [TreeEdit], isWhole: Bool) {
        var together = tree.reopened(in: ForkNodeStore(over: tree.store))
        let outcomes = attempt(isWhole, "edits") { try together.apply(edits) }
        var single = tree.reopened(in: ForkNodeStore(over: tree.store))
        for edit in edits { _ = attempt(isWhole, "edit") { try single.apply([edit]) } }
        if outcomes != nil {
            let defects = together.check()
            precondition(!isWhole || defects.isEmpty, "edits damage a tree: \(defects)")
            _ = together.dump()
        }
        let defects = single.check()
        guard isWhole else { return }
        precondition(defects.isEmpty, "an edit damages a tree: \(defects)")
        precondition(
            together.root.measure == single.root.measure
                && walked(together, from: 0, .forward, true) == walked(single, from: 0, .forward, true),
            "edits differ when they are made together")
    }
}
