import FetchIndexTestSupport
import Testing

@testable import FetchIndexCountedTree

/// Leaves that a `LeafFiller` makes, compared with leaves that a `NodeWriter` makes from the same cells.
@Suite struct LeafFillerTests {
    private static let capacity = 4072

    /// One filler makes all leaves of a form, like in a build.
    @Test(arguments: NodeTests.Keys.allCases, NodeTests.seeds)
    func leavesOfAFillerEqualThoseOfANodeWriter(_ shape: NodeTests.Keys, seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let store = MemoryNodeStore(capacity: Self.capacity)
        for form in [
            CellForm(isWeighted: false, maximumSummary: nil), CellForm(isWeighted: true, maximumSummary: nil),
            CellForm(isWeighted: true, maximumSummary: 10),
        ] {
            let keys = shape.make(1000, using: &generator)
            var filler = LeafFiller(form, capacity: Self.capacity)
            var writer = NodeWriter(level: 0, form)
            var leaves = 0
            var last = StoredKey.empty
            for (number, key) in keys.enumerated() {
                let stored = try store.storedForm(of: key.span.bytes, form)
                let summary = [UInt8](
                    repeating: 7, count: form.hasSummaries ? Int.random(in: 0...10, using: &generator) : 0)
                let isFilled = writer.isFilled(before: stored, summaryLength: summary.count, capacity: Self.capacity)
                let common = last.bytes.prefix(last.inlineCount).enumerated()
                    .prefix { $0.offset < stored.inlineCount && $0.element == stored.bytes[$0.offset] }.count
                func append() -> LeafFiller.Outcome {
                    filler.append(
                        stored.bytes.span.bytes, isLong: stored.isLong, weight: number, summary.span.bytes)
                }
                switch append() {
                case .added: #expect(!isFilled)
                case .notAscending: Issue.record("key \(number), seed \(seed)")
                case .filled(let shared):
                    #expect(isFilled && shared == common)
                    #expect(filler.node() == writer.node(), "key \(number), seed \(seed)")
                    leaves += 1
                    filler.removeAll()
                    writer.removeAll()
                    guard case .added = append() else {
                        Issue.record("key \(number), seed \(seed)")
                        return
                    }
                }
                writer.appendLeafCell(stored, weight: number, summary.span.bytes)
                last = stored
                if stored.isLong { continue }
                guard case .notAscending = append() else {
                    Issue.record("the same key was added twice: key \(number), seed \(seed)")
                    return
                }
            }
            #expect(filler.node() == writer.node())
            #expect(leaves > 0 || shape == .oneByte)
        }
    }
}
