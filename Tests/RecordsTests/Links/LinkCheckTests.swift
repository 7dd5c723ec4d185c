import FetchIndexPlatform
import FetchIndexModels
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexLMDB
@testable import FetchIndexRecords

/// `check` reports defects of links, and a repair makes links and references agree again.
@Suite struct LinkCheckTests {
    private static let model = Model(entities: [
        Entity(
            "Author", [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("books", toMany: "Book", inverse: "author")]),
        Entity(
            "Book", [AttributeDescription("title", .string)],
            relationships: [
                RelationshipDescription("author", toOne: "Author", inverse: "books"),
                RelationshipDescription("tags", toMany: "Tag", inverse: "books"),
            ]),
        Entity(
            "Tag", [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("books", toMany: "Book", inverse: "tags")]),
    ])

    private let test: TestStore
    private let author = 0
    private let book = 1
    private let tag = 2
    private let join = 3

    /// Two authors with two books each, and a tag of two books.
    init() throws {
        test = try TestStore(model: Self.model)
        let model = try test.store.snapshot().model
        try #require(model.entities[join].isJoin)
        try test.write { writer in
            for (entity, name) in [(author, "a"), (author, "b"), (tag, "t")] {
                let record = try model.entities[entity].record([.string(name)])
                try writer.insert(entity, record.span.bytes)
            }
            for number in 1...4 {
                let plain = try model.entities[book].record([.string("\(number)")])
                let target = RecordKey(entity: author, number: UInt64(number % 2 + 1))
                let record = try model.entities[book].record(
                    plain.span.bytes, setting: [1: .integer(Int64(target.rawValue))])
                try writer.insert(book, record.span.bytes)
            }
            for number in [1, 3] as [UInt64] {
                let sides = [RecordKey(entity: book, number: number), RecordKey(entity: tag, number: 1)]
                let empty = RecordBuilder.empty
                let record = try model.entities[join].record(
                    empty.span.bytes,
                    setting: [0: .integer(Int64(sides[0].rawValue)), 1: .integer(Int64(sides[1].rawValue))])
                try writer.insert(join, record.span.bytes)
            }
        }
    }

    private var books: EntityLinks.Name { EntityLinks.Name(entity: book, slot: 1) }

    private func holders(of number: UInt64) throws -> [UInt64] {
        var holders: [UInt64] = []
        try test.store.snapshot().forEachLink(books, to: RecordKey(entity: author, number: number)) { holder, _ in
            holders.append(holder.number)
            return true
        }
        return holders
    }

    private func keys(to target: RecordKey, _ name: EntityLinks.Name) throws -> [[UInt8]] {
        let prefix = LinkKey.prefix(name, to: target)
        var keys = [prefix]
        try test.store.snapshot().forEachLink(name, to: target) { _, sortKey in
            keys.append(prefix + [UInt8](copying: sortKey))
            return true
        }
        return keys
    }

    private func damage(_ body: (TransactionView, Table) throws -> Void) throws {
        let transaction = try test.store.environment.beginWrite()
        try body(transaction.view, test.store.tables.unique)
        try transaction.commit()
    }

    private func check() throws -> [String] { try test.store.snapshot().check() }

    private func repair() throws -> [String] {
        var done: [String] = []
        try test.write { done = try $0.repair { _ in } }
        return done
    }

    @Test func linksLeadFromAnObjectToItsHolders() throws {
        #expect(try holders(of: 1) == [2, 4] && holders(of: 2) == [1, 3])
        #expect(try check() == [])
        let snapshot = try test.store.snapshot()
        let last = try snapshot.lastLink(books, to: RecordKey(entity: author, number: 1))
        #expect(last?.holder.number == 4)
        let before = try snapshot.lastLink(books, to: RecordKey(entity: author, number: 1), before: last?.sortKey)
        #expect(before?.holder.number == 2)
    }

    @Test func aRepairRestoresAMissingLink() throws {
        let keys = try keys(to: RecordKey(entity: author, number: 1), books)
        try damage { view, table in try view.delete(keys[1], in: table) }
        #expect(
            try check() == [
                "Book 2: its relationship author has no link to Author 1",
                "links to Author 1 are counted as 2, but there are 1", "there are 7 links for 8 references",
            ])
        #expect(throws: StoreError.corrupted("links to Author 1 are counted as 2, but there are 1")) {
            try holders(of: 1)
        }
        #expect(try repair() == ["1 link was missing or damaged: added"])
        #expect(try check() == [] && holders(of: 1) == [2, 4])
    }

    @Test func aRepairRemovesALinkThatNoRecordHas() throws {
        let target = RecordKey(entity: author, number: 2)
        var stray = LinkKey.prefix(books, to: target)
        OrderKey.appendNull(to: &stray)
        stray.appendBigEndian(RecordKey(entity: book, number: 2).rawValue)
        try damage { [stray] view, table in try view.put(LinkKey.value(of: stray), for: stray, in: table) }
        #expect(try !check().isEmpty)
        #expect(throws: StoreError.self) { try holders(of: 2) }
        #expect(try repair() == ["1 link was not in any record: removed"])
        #expect(try check() == [] && holders(of: 2) == [1, 3])
    }

    @Test func aRepairCorrectsAWrongCountOfLinks() throws {
        let prefix = LinkKey.prefix(books, to: RecordKey(entity: author, number: 1))
        for value in [LinkKey.count(7, under: prefix), [1, 2, 3]] {
            try damage { view, table in try view.put(value, for: prefix, in: table) }
            #expect(try !check().isEmpty)
            #expect(throws: StoreError.self) { try holders(of: 1) }
            #expect(try repair() == ["the links of 1 object were counted wrong: corrected"])
            #expect(try check() == [] && holders(of: 1) == [2, 4])
        }
    }

    @Test func aFlippedBitOfALinkIsReportedAndRepaired() throws {
        let key = try keys(to: RecordKey(entity: author, number: 1), books)[2]
        for byte in key.indices {
            var flipped = key
            flipped[byte] ^= 1
            try damage { [flipped] view, table in
                try view.delete(key, in: table)
                try view.put(LinkKey.value(of: key), for: flipped, in: table)
            }
            #expect(try !check().isEmpty, "byte \(byte)")
            #expect(throws: StoreError.self, "byte \(byte)") { try holders(of: 1) }
            #expect(try !repair().isEmpty)
            #expect(try check() == [] && holders(of: 1) == [2, 4], "byte \(byte)")
        }
    }

    @Test func aRepairRemovesReferencesToMissingObjects() throws {
        let transaction = try test.store.environment.beginWrite()
        for lost in [RecordKey(entity: author, number: 1), RecordKey(entity: tag, number: 1)] {
            try transaction.view.delete(lost.rawValue, in: test.store.tables.records)
        }
        try transaction.commit()
        #expect(try check().contains("Book 2: its relationship author leads to Author 1, which is missing"))
        #expect(try repair().contains("4 references led to objects that are missing or of another entity: removed"))
        #expect(try check() == [] && holders(of: 1) == [])
    }
}
