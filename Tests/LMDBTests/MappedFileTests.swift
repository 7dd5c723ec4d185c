@testable import FetchIndexLMDB
import FetchIndexPlatform
import FetchIndexTestSupport
import Foundation
import Testing

/// What a read transaction and a mapped file show, which read pages without LMDB, is what LMDB reads from the same file.
@Suite struct MappedFileTests {
    private let folder = TemporaryFolder()

    private struct Entry: Equatable {
        let key: [UInt8]
        let value: [UInt8]
    }

    private static let names = ["bytes", "numbers", "empty"]

    private func open() throws -> (Environment, [Table]) {
        // What is tested is what finds damage without page checksums.
        var options = Environment.Options()
        options.hasPageChecksums = false
        let environment = try Environment.open(at: folder.path, options: options)
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

    @Test(arguments: [0, 1, 30, 1500], [1, 2] as [UInt64]) func pagesHaveTheEntriesThatLMDBReads(
        count: Int, seed: UInt64
    ) throws {
        var random = SeededGenerator(seed: seed)
        try fill(count, &random)
        let (environment, tables) = try open()
        let file = try MappedFile(inFolder: folder.path)
        let reader = try environment.beginRead()
        // LMDB reads what a write transaction reads.
        let writer = try environment.beginWrite()
        #expect(reader.view.state != nil && writer.view.state == nil)
        let mapped = TransactionView(file.state)
        let mappedTables = try Self.names.map { name in
            try #require(try file.table(TableDescription(name, name == "numbers" ? .integers : .bytes)))
        }
        #expect(mapped.identifier == writer.view.identifier - 1 && reader.view.identifier == mapped.identifier)
        #expect(try file.table(TableDescription("missing")) == nil)
        for (view, own) in [(reader.view, tables), (mapped, mappedTables)] {
            for (table, other) in zip(tables, own) {
                try compare(view, other, withLMDB: writer.view, table, &random, "seed \(seed)")
            }
        }
        let free = try (reader.view.freePages(), mapped.freePages())
        #expect(free.0.map(\.transaction) == free.1.map(\.transaction) && free.0.map(\.count) == free.1.map(\.count))
        withExtendedLifetime(file) {}
    }

    private func compare(
        _ view: TransactionView, _ other: Table, withLMDB oracle: TransactionView, _ table: Table,
        _ random: inout SeededGenerator, _ comment: Comment
    ) throws {
        let (entries, backwards) = try walk(oracle, table)
        let (ownEntries, ownBackwards) = try walk(view, other)
        #expect(ownEntries == entries && ownBackwards == backwards, comment)
        let statistics = try (oracle.statistics(of: table), view.statistics(of: other))
        #expect(statistics.0.entries == statistics.1.entries && statistics.0.pages == statistics.1.pages)
        for _ in 0..<300 {
            let known = entries.randomElement(using: &random)?.key
            let length = table.keys == .integers ? 8 : Int.random(in: 1...5, using: &random)
            var key = Bool.random(using: &random) ? known ?? bytes(length, &random) : bytes(length, &random)
            if Bool.random(using: &random) { key[key.count - 1] &+= 1 }
            #expect(try firstKey(view, other, from: key) == firstKey(oracle, table, from: key), comment)
            if table.keys == .bytes {
                #expect(try value(view, other, of: key) == value(oracle, table, of: key), comment)
            }
        }
        try compareSeeks(view, other, withLMDB: oracle, table, &random, comment)
    }

    /// Seeks of one cursor to keys in any order, many of them in the leaf that the cursor is at, with steps in between.
    private func compareSeeks(
        _ view: TransactionView, _ other: Table, withLMDB oracle: TransactionView, _ table: Table,
        _ random: inout SeededGenerator, _ comment: Comment
    ) throws {
        try view.withCursor(on: other) { own in
            try oracle.withCursor(on: table) { cursor in
                var number: UInt64 = 0
                for _ in 0..<500 {
                    let distance = UInt64.random(in: 0..<(Bool.random(using: &random) ? 10 : 2000), using: &random)
                    number = Bool.random(using: &random) ? number &+ distance : number - min(number, distance)
                    let key = withUnsafeBytes(of: UInt16(truncatingIfNeeded: number).bigEndian) { [UInt8]($0) }
                    var isFound =
                        table.keys == .integers
                        ? try (own.seek(toKeyFrom: number), cursor.seek(toKeyFrom: number))
                        : try (own.seek(toKeyFrom: key.span.bytes), cursor.seek(toKeyFrom: key.span.bytes))
                    for _ in 0..<Int.random(in: 0..<3, using: &random) where isFound.0 && isFound.1 {
                        isFound = try (own.seekToNext(), cursor.seekToNext())
                    }
                    #expect(isFound.0 == isFound.1, comment)
                    if isFound.0 && isFound.1 { #expect(entry(own) == entry(cursor), comment) }
                }
            }
        }
    }

    @Test func entriesOfAMappedFileAreReadInBlocks() throws {
        var random = SeededGenerator(seed: 5)
        try fill(500, &random)
        let file = try MappedFile(inFolder: folder.path)
        let view = TransactionView(file.state)
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
        let view = TransactionView(file.state)
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
        let view = TransactionView(file.state)
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
                    _ = try walk(TransactionView(file.state), table)
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
