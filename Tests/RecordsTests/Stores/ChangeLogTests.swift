import FetchIndexPlatform
import FetchIndexModels
import FetchIndexLMDB
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

private enum Operation: CaseIterable {
    case insert, update, updateToEqual, delete
}

/// After random commits, the log's net changes between any two of them must turn the contents at the first one into the
/// contents at the second one.
@Suite struct ChangeLogTests {
    @Test(arguments: 1...12) func netChangesTurnOneSnapshotIntoAnother(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let test = try TestStore(model: TestStore.books)
        var states: [[UInt64: [UInt8]]] = [[:]]
        for _ in 0..<25 {
            let commit = try test.write { writer in
                for _ in 0..<Int.random(in: 1...12, using: &generator) {
                    try apply(
                        Operation.allCases.randomElement(using: &generator) ?? .insert, to: writer, test, &generator)
                }
                let shop = try writer.model.entities[1].record(["shop"])
                if Bool.random(using: &generator) { try writer.insert(1, shop.span.bytes) }
            }
            let contents = try test.contents()
            if commit == states.count { states.append(contents) }
            #expect(states.last == contents, "seed \(seed): records changed without a commit")
        }
        let snapshot = try test.store.snapshot()
        for first in states.indices {
            for last in first..<states.count {
                var replayed = states[first]
                try snapshot.netChanges(of: 0, from: UInt64(first), to: UInt64(last)) { change in
                    let context: Comment = "seed \(seed), from \(first) to \(last), object \(change.object.number)"
                    #expect(change.old == replayed[change.object.number], context)
                    #expect(change.old != change.new, context)
                    replayed[change.object.number] = change.new
                }
                #expect(replayed == states[last], "seed \(seed), from \(first) to \(last)")
            }
        }
    }

    private func apply(
        _ operation: Operation, to writer: StoreWriter, _ test: TestStore, _ generator: inout SeededGenerator
    ) throws {
        let next = try writer.entityState(0).nextObject
        let object = RecordKey(entity: 0, number: .random(in: 0...next, using: &generator))
        var old: [UInt8]?
        _ = try writer.record(object) { old = [UInt8](copying: $0) }
        let price = Int64.random(in: 0...3, using: &generator)
        switch operation {
        case .insert:
            let book = try test.book("\(next)", price)
            try writer.insert(0, book.span.bytes)
        case .update:
            if old == nil { return }
            let book = try test.book("\(object.number)", price)
            try writer.update(object, book.span.bytes)
        case .updateToEqual:
            guard let old else { return }
            #expect(try !writer.update(object, old.span.bytes))
        case .delete:
            #expect(try writer.delete(object) == (old != nil))
        }
    }

    @Test func headersOfCommitsHaveAuthorTimeAndCounts() throws {
        let test = try TestStore(model: TestStore.books)
        let writer = try test.store.beginWrite(author: "夜間バッチ")
        for id in 0..<5000 {
            let book = try test.book("\(id)", 5)
            try writer.insert(0, book.span.bytes)
        }
        try writer.commit()
        try test.write { writer in
            let book = try test.book("7", 6)
            try writer.update(RecordKey(entity: 0, number: 8), book.span.bytes)
            try writer.delete(RecordKey(entity: 0, number: 9))
        }
        let snapshot = try test.store.snapshot()
        let headers = try snapshot.commits(after: 0)
        #expect(headers.map(\.author) == ["夜間バッチ", ""])
        #expect(headers[0].changes[0]?.inserted == 5000 && headers[1].changes[0]?.total == 2)
        #expect(headers[0].time > 1.7e9)
        #expect(snapshot.state.logBytes < 400, "inserted objects are logged as a range")
        #expect(try snapshot.changeCount(of: [0], after: 1) == 2)
        #expect(try snapshot.changeCount(of: [1], after: 0) == 0)
    }

    @Test func theLogIsTrimmedThroughACommitAndToItsLimit() throws {
        let test = try TestStore(model: TestStore.books)
        for id in 0..<20 {
            let book = try test.book("\(id)", 5)
            try test.write { try $0.insert(0, book.span.bytes) }
        }
        try test.write { try $0.trimLog(through: 12) }
        var snapshot = try test.store.snapshot()
        #expect(!snapshot.logReaches(back: 11))
        #expect(snapshot.logReaches(back: 12))
        #expect(try snapshot.commits(after: 0).first?.commit == 13)
        try test.write { $0.setLogLimit(500) }
        for number in 1...20 {
            let book = try test.book("\(number - 1)", 6, String(repeating: "x", count: 100))
            try test.write { try $0.update(RecordKey(entity: 0, number: UInt64(number)), book.span.bytes) }
        }
        snapshot = try test.store.snapshot()
        #expect(snapshot.state.logBytes <= 500)
        #expect(snapshot.state.logStart > 12)
        #expect(snapshot.state.commit == 40)
        #expect(snapshot.logReaches(back: 40))
    }

    @Test func theLogCanHoldAChangeOfAllRecords() {
        let least = StoreState.leastLogLimit
        #expect(StoreState.logLimit(least, recordBytes: 0) == least)
        #expect(StoreState.logLimit(least, recordBytes: 4 * least) == 5 * least)
        // After a trim to 7/8, a change that is as long as the records is still there.
        #expect(StoreState.logLimit(least, recordBytes: 4 * least) / 8 * 7 > 4 * least)
        #expect(StoreState.logLimit(500, recordBytes: 4 * least) == 500)
    }

    @Test func aDamagedListOfBookmarksIsFoundAndReplaced() throws {
        let test = try TestStore(model: TestStore.books)
        let book = try test.book("a")
        try test.write { try $0.insert(0, book.span.bytes) }
        try test.write { try $0.setBookmark("mail", StoredBookmark(commit: 1, time: 7)) }
        #expect(try test.store.snapshot().bookmarks() == ["mail": StoredBookmark(commit: 1, time: 7)])
        try test.write { try $0.view.put([1, 2, 3], for: StoreLayout.bookmarksKey, in: $0.tables.meta) }
        #expect(throws: StoreError.self) { _ = try test.store.snapshot().bookmarks() }
        var repairs: [String] = []
        try test.write { repairs = try $0.repairBookmarks() }
        #expect(repairs.count == 1)
        #expect(try test.store.snapshot().bookmarks().isEmpty)
        try test.write { repairs = try $0.repairBookmarks() }
        #expect(repairs.isEmpty)
    }

    @Test func readingADamagedPartOfTheLogIsAnError() throws {
        let test = try TestStore(model: TestStore.books)
        let a = try test.book("a"), b = try test.book("b")
        try test.write { try $0.insert(0, a.span.bytes) }
        try test.write { try $0.update(RecordKey(entity: 0, number: 1), b.span.bytes) }
        let key = StoreLayout.logKey(commit: 2, part: 1)
        var part: [UInt8] = []
        let snapshot = try test.store.snapshot()
        _ = try snapshot.view.get(key.span.bytes, in: test.store.tables.log) { part = [UInt8](copying: $0) }
        for offset in part.indices {
            var damaged = part
            damaged[offset] ^= 0x10
            try test.write { try $0.view.put(damaged.span.bytes, for: key.span.bytes, in: test.store.tables.log) }
            #expect(throws: StoreError.self, "byte \(offset)") {
                try test.store.snapshot().netChanges(of: 0, from: 1) { _ in }
            }
        }
        try test.write { try $0.view.put(part.span.bytes, for: key.span.bytes, in: test.store.tables.log) }
    }
}
