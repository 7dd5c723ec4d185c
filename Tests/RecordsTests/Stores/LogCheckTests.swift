@testable import FetchIndexLMDB
import FetchIndexPlatform
import FetchIndexModels
import FetchIndexTestSupport
import Testing

@testable import FetchIndexRecords

/// `check` reports damaged, misplaced, missing and stray parts of the log.
@Suite struct LogCheckTests {
    private let test: TestStore
    /// A log of six commits, each with a header and one part: three insert an object each, and three update one each.
    private var parts: [LogKey: [UInt8]] = [:]

    init() throws {
        test = try TestStore(model: TestStore.books)
        for price in [5, 6] as [Int64] {
            for (number, id) in ["a", "b", "c"].enumerated() {
                let book = try test.book(id, price)
                let object = RecordKey(entity: 0, number: UInt64(number + 1))
                try test.write { writer in
                    if price == 5 {
                        try writer.insert(0, book.span.bytes)
                    } else {
                        try writer.update(object, book.span.bytes)
                    }
                }
            }
        }
        let snapshot = try test.store.snapshot()
        for commit in 1...6 as ClosedRange<UInt64> {
            for part in 0...1 as ClosedRange<UInt32> {
                let key = StoreLayout.logKey(commit: commit, part: part)
                var value: [UInt8] = []
                _ = try snapshot.view.get(key.span.bytes, in: snapshot.tables.log) { value = [UInt8](copying: $0) }
                parts[LogKey(commit: commit, part: part)] = try #require(value.isEmpty ? nil : value)
            }
        }
        #expect(try snapshot.view.statistics(of: snapshot.tables.log).entries == parts.count)
    }

    /// Changes or removes parts of the log, returns the defects that `check` reports, and restores the parts.
    private func defects(_ changes: [(LogKey, [UInt8]?)]) throws -> [String] {
        try change(changes)
        let defects = try test.store.snapshot().check()
        try change(changes.map { key, _ in (key, parts[key]) })
        return defects
    }

    private func change(_ changes: [(LogKey, [UInt8]?)]) throws {
        let transaction = try test.store.environment.beginWrite()
        for (key, value) in changes {
            let bytes = StoreLayout.logKey(commit: key.commit, part: key.part)
            if let value {
                try transaction.view.put(value.span.bytes, for: bytes.span.bytes, in: test.store.tables.log)
            } else {
                try transaction.view.delete(bytes.span.bytes, in: test.store.tables.log)
            }
        }
        try transaction.commit()
    }

    private func mismatch(_ key: LogKey) -> String { "the store is damaged: \(key.name) does not match its checksum" }

    @Test func eachDamagedPartOfTheLogIsReported() throws {
        let all = parts.keys.sorted { ($0.commit, $0.part) < ($1.commit, $1.part) }
        for damaged in [all, [all[1], all[4], all[7]], [all[0], all[5]]] {
            let changes = damaged.map { key in
                (key, parts[key].map { bytes in [bytes[0] ^ 1] + bytes.dropFirst() })
            }
            #expect(try defects(changes) == damaged.map(mismatch))
        }
    }

    /// Two commits exchange their headers, and then their parts. Their counts are equal, so only the checksums, which
    /// cover the keys, show it.
    @Test func aMisplacedPartOfTheLogIsReported() throws {
        for part in 0...1 as ClosedRange<UInt32> {
            let keys = [LogKey(commit: 4, part: part), LogKey(commit: 5, part: part)]
            #expect(parts[keys[0]]?.count == parts[keys[1]]?.count)
            #expect(try defects([(keys[0], parts[keys[1]]), (keys[1], parts[keys[0]])]) == keys.map(mismatch))
        }
    }

    @Test func missingAndStrayPartsOfTheLogAreReported() throws {
        let parts = parts
        func bytes(_ keys: [LogKey]) -> Int { keys.reduce(0) { $0 + (parts[$1]?.count ?? 0) } }
        let missing = [LogKey(commit: 1, part: 1), LogKey(commit: 3, part: 0)]
        let total = bytes(Array(parts.keys))
        #expect(
            try defects(missing.map { ($0, nil) }) == [
                "the store is damaged: the changes in the log do not match the counts of commit 1",
                "the store is damaged: the log has no part 0 of commit 3",
                "the log counts \(total) bytes, but has \(total - bytes(missing))",
            ])
        let commits = parts.keys.filter { $0.commit == 2 || $0.commit == 3 }
        let stray = LogKey(commit: 9, part: 1)
        #expect(
            try defects(commits.map { ($0, nil) } + [(stray, [1])]) == [
                "the log has no commits 2 to 3", "part 1 of commit 9 in the log belongs to no commit of the log",
                "the log counts \(total) bytes, but has \(total - bytes(commits) + 1)",
            ])
        #expect(
            try defects(parts.keys.filter { $0.commit == 6 }.map { ($0, nil) }).first == "the log has no commit 6")
    }
}
