import FetchIndexCountedTree
import FetchIndexModels
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

@Suite struct LiveOrderTests {
    /// The unsaved edits have their own leaf, in a fork. The rollback also needs the saved order's leaf, which is
    /// missing.
    @Test func aFailedRollbackKeepsTheEditedOrder() throws {
        let test = try TestStore(model: TestRow.model)
        try test.write { writer in
            for rank in 0..<10 {
                let record = try TestRow(group: nil, rank: Int64(rank)).record()
                try writer.insert(0, record.span.bytes)
            }
        }
        let request = try TestOrder(hasSections: false).request()
        let opened = try CacheEngine.compute(request, in: test.store.snapshot())
        guard case .memory(let nodes) = opened.place else {
            Issue.record("an order without a cache is in memory")
            return
        }
        let live = try LiveOrder(request, opened, offset: 1, limit: 3)
        let saved = try live.window.objects()
        let edit = RecordChange(
            object: RecordKey(entity: 0, number: 100), old: nil, new: try TestRow(group: nil, rank: -1).record())
        _ = try live.edit([edit], nil)
        let edited = try live.window.objects()
        #expect(edited != saved)

        let leaf = opened.order.roots.rows.node
        var bytes: [UInt8] = []
        try nodes.read(leaf) { bytes = $0.withUnsafeBytes { [UInt8]($0) } }
        nodes.free(leaf)
        #expect(throws: (any Error).self) { try live.rollBack([edit.reversed], nil) }
        #expect(try live.window.objects() == edited)
        nodes.write(leaf, bytes)
        let change = try live.rollBack([edit.reversed], nil)
        #expect(try live.window.objects() == saved && !change.isEmpty)
    }
}
