@testable import FetchIndexLMDB
import FetchIndexPlatform
import FetchIndexTestSupport
import Foundation
import Testing

/// What a mapped file shows without LMDB is what LMDB reads from the same file.
@Suite struct MappedFileTests {
    private let folder = TemporaryFolder()

    private struct Entry: Equatable {
        let key: [UInt8]
        let value: [UInt8]
    }

    private static let names = ["bytes", "numbers", "empty"]

    private func open() throws -> (Environment, [Table]) {
        let environment = try Environment.open(at: folder.path)
        let descriptions = Self.names.map { TableDescription($0, $0 == "numbers" ? .integers : .bytes) }
        return (environment, try environment.tables(descriptions, creating: true))
    }

    private func bytes(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    /// Writes entries with keys and values of many lengths, some values on overflow pages, in several transactions with
    /// deletions.
    private func fill(_ count: Int, _ random: inout SeededGenerator) throws {
        let (environment, tables) = try open()
        for _ in 0..<3 {
            let writer = try environment.beginWrite()
            for _ in 0..<count {
                let key = bytes(.random(in: 1...(Bool.random(using: &random) ? 4 : 500), using: &random), &random)
                let length = Int.random(in: 0..<40, using: &random) == 0 ? 9000 : 200
                let value = bytes(.random(in: 0...length, using: &random), &random)
                let number = UInt64.random(in: 0..<UInt64(4 * count), using: &random)
                if Int.random(in: 0..<4, using: &random) == 0 {
                    try writer.view.delete(number, in: tables[1])
                } else {
                    try writer.view.put(value, for: key, in: tables[0])
                    try writer.view.put(value.span.bytes, for: number, in: tables[1])
                }
            }
            try writer.commit()
        }
    }

    private func entry(_ cursor: borrowing Cursor) -> Entry {
        Entry(key: [UInt8](copying: cursor.key), value: [UInt8](copying: cursor.value))
    }

    /// All entries, forwards, and then the keys that are reached backwards from the end.
    private func walk(_ view: TransactionView, _ table: Table) throws -> ([Entry], [[UInt8]]) {
        var entries: [Entry] = []
        try view.forEachEntry(in: table) { entries.append(entry($0)) }
        var keys: [[UInt8]] = []
        try view.withCursor(on: table) { cursor in
            var end = [UInt8](repeating: 0xFF, count: 512)
            while try table.keys == .bytes ? cursor.seek(toLastKeyBefore: end.span.bytes) : false {
                end = [UInt8](copying: cursor.key)
                keys.append(end)
            }
        }
        return (entries, keys)
    }

    private func firstKey(_ view: TransactionView, _ table: Table, from key: [UInt8]) throws -> Entry? {
        try view.withCursor(on: table) { cursor in
            let isFound =
                table.keys == .bytes
                ? try cursor.seek(toKeyFrom: key.span.bytes)
                : try cursor.seek(toKeyFrom: key.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) })
            return isFound ? entry(cursor) : nil
        }
    }

    private func value(_ view: TransactionView, _ table: Table, of key: [UInt8]) throws -> [UInt8]? {
        var found: [UInt8]?
        _ = try view.get(key, in: table) { found = [UInt8](copying: $0) }
        return found
    }

    @Test(arguments: [0, 1, 30, 1500], [1, 2] as [UInt64]) func aMappedFileHasTheEntriesThatLMDBReads(
        count: Int, seed: UInt64
    ) throws {
        var random = SeededGenerator(seed: seed)
        try fill(count, &random)
        let (environment, tables) = try open()
        let reader = try environment.beginRead()
        let file = try MappedFile(inFolder: folder.path)
        let mapped = TransactionView(file)
        #expect(mapped.identifier == reader.identifier)
        #expect(try file.table(TableDescription("missing")) == nil)
        for (name, table) in zip(Self.names, tables) {
            let other = try #require(try file.table(TableDescription(name, table.keys)))
            let (entries, backwards) = try walk(reader.view, table)
            let (mappedEntries, mappedBackwards) = try walk(mapped, other)
            #expect(mappedEntries == entries, "\(name), seed \(seed)")
            #expect(mappedBackwards == backwards, "\(name), seed \(seed)")
            let statistics = try (reader.view.statistics(of: table), mapped.statistics(of: other))
            #expect(statistics.0.entries == statistics.1.entries && statistics.0.pages == statistics.1.pages)
            for _ in 0..<300 {
                let known = entries.randomElement(using: &random)?.key
                let length = table.keys == .integers ? 8 : Int.random(in: 1...5, using: &random)
                var key = Bool.random(using: &random) ? known ?? bytes(length, &random) : bytes(length, &random)
                if Bool.random(using: &random) { key[key.count - 1] &+= 1 }
                #expect(
                    try firstKey(mapped, other, from: key) == firstKey(reader.view, table, from: key), "seed \(seed)")
                if table.keys == .bytes {
                    #expect(try value(mapped, other, of: key) == value(reader.view, table, of: key), "seed \(seed)")
                }
            }
        }
        let free = try (reader.view.freePages(), mapped.freePages())
        #expect(free.0.map(\.transaction) == free.1.map(\.transaction) && free.0.map(\.count) == free.1.map(\.count))
        withExtendedLifetime(file) {}
    }

    @Test func entriesOfAMappedFileAreReadInBlocks() throws {
        var random = SeededGenerator(seed: 5)
        try fill(500, &random)
        let file = try MappedFile(inFolder: folder.path)
        let view = TransactionView(file)
        let table = try #require(try file.table(TableDescription("numbers", .integers)))
        let (entries, _) = try walk(view, table)
        var inBlocks: [Entry] = []
        try view.withCursor(on: table) { cursor in
            var block = EntryBlock()
            _ = try cursor.seek(toKeyFrom: 0 as UInt64)
            try cursor.read(into: &block, through: .max)
            while block.count > 0 {
                for place in 0..<block.count {
                    let key = withUnsafeBytes(of: block.keys[place]) { [UInt8]($0) }
                    inBlocks.append(Entry(key: key, value: [UInt8](block.values[place])))
                }
                block.removeAll()
                try cursor.read(into: &block, through: .max)
            }
        }
        #expect(inBlocks == entries)
        withExtendedLifetime(file) {}
    }

    @Test func aMappedFileIsNotWritten() throws {
        var random = SeededGenerator(seed: 6)
        try fill(20, &random)
        let file = try MappedFile(inFolder: folder.path)
        let view = TransactionView(file)
        let table = try #require(try file.table(TableDescription("bytes")))
        let key: [UInt8] = [1]
        #expect(throws: LMDBError.permissionDenied) { try view.put(key, for: key, in: table) }
        #expect(throws: LMDBError.permissionDenied) { try view.delete(key, in: table) }
        try view.withCursor(on: table) { cursor in
            _ = try cursor.seekToFirst()
            do {
                try cursor.deleteCurrent()
                Issue.record("an entry was deleted")
            } catch { #expect(error as? LMDBError == .permissionDenied) }
        }
        withExtendedLifetime(file) {}
    }

    /// A writer may overwrite pages of the state only after two further commits.
    @Test func aMappedFileIsReadUntilTwoFurtherCommits() throws {
        var random = SeededGenerator(seed: 7)
        try fill(300, &random)
        let file = try MappedFile(inFolder: folder.path)
        let view = TransactionView(file)
        let table = try #require(try file.table(TableDescription("numbers", .integers)))
        let (before, _) = try walk(view, table)
        let (environment, tables) = try open()
        for round in 1...4 {
            let writer = try environment.beginWrite()
            for number in 0..<600 as Range<UInt64> {
                try writer.view.put(bytes(100, &random).span.bytes, for: number, in: tables[1])
            }
            try writer.commit()
            if round == 1 {
                #expect(try walk(view, table).0 == before)
            } else {
                #expect(throws: LMDBError.overtaken) { try walk(view, table) }
            }
        }
        withExtendedLifetime(file) {}
    }

    /// Bytes of pages are changed. Each walk ends or throws, and doesn't end the process.
    @Test(arguments: 1...3 as ClosedRange<UInt64>) func aDamagedMappedFileThrowsOrEnds(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        try fill(400, &random)
        let path = URL(fileURLWithPath: folder.path + "/data.mdb")
        let whole = try Data(contentsOf: path)
        var thrown = 0
        for _ in 0..<200 {
            var damaged = whole
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let page = Int.random(in: 2..<whole.count / 4096, using: &random) * 4096
                let offset = Int.random(in: 0..<(Bool.random(using: &random) ? 200 : 4096), using: &random)
                damaged[page + offset] = .random(in: 0...255, using: &random)
            }
            try damaged.write(to: path)
            do {
                let file = try MappedFile(inFolder: folder.path)
                for name in Self.names {
                    let keys = name == "numbers" ? KeyKind.integers : .bytes
                    guard let table = try file.table(TableDescription(name, keys)) else { continue }
                    _ = try walk(TransactionView(file), table)
                }
                withExtendedLifetime(file) {}
            } catch is LMDBError {
                thrown += 1
            } catch is DataFileError {
                thrown += 1
            }
        }
        #expect(thrown > 20)
    }
}
