import FetchIndex
import Foundation
import FetchIndexOrderCaches
import FetchIndexRecords
import Synchronization
import FetchIndexTestSupport
import Testing

/// A cache takes an order when its reader is done with it. What a reader misses, because it fails, is told to the next one.
@Suite struct ToldOrderTests {
    private static let model = Model(entities: [
        Entity(
            "Item",
            [
                AttributeDescription("code", .integer, isOptional: false, isUnique: true),
                AttributeDescription("group", .integer), AttributeDescription("size", .integer),
            ])
    ])
    private static let definition = OrderDefinition(
        entity: "Item", sortKeys: [SortKey("size")], sectionKey: .attribute("group"))

    private struct ReaderFailed: Error {}

    private let store: LiveStore
    private var container: PersistentContainer { store.container }
    private var options: PersistentContainer.OrderOptions {
        var options = PersistentContainer.OrderOptions(cacheName: "c")
        options.needsExactChange = true
        return options
    }

    init() throws {
        store = try LiveStore(Self.model)
        try put((0..<20).map { ($0, $0 % 3, $0) })
        try container.withOrder(Self.definition, options) { #expect($0.outcome == .rebuilt(.first)) }
    }

    private func put(_ items: [(code: Int, group: Int, size: Int)]) throws {
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        try write(items, writer)
        try writer.commit()
    }

    private func write(_ items: [(code: Int, group: Int, size: Int)], _ writer: BatchWriter) throws {
        for (code, group, size) in items {
            let values = [code, group, size].map { Value.integer(Int64($0)) }
            if let object = try writer.object(key: values[0]) {
                try writer.update(object, values)
            } else {
                try writer.insert(values)
            }
        }
    }

    /// What a reader gets; where it fails after it.
    private func read(failing: Bool = false) throws -> FetchOutcome {
        var outcome: FetchOutcome?
        do {
            try container.withOrder(Self.definition, options) { order in
                outcome = order.outcome
                if failing { throw ReaderFailed() }
            }
        } catch is ReaderFailed {}
        return try #require(outcome)
    }

    private func rows() throws -> [[ObjectID]] {
        try container.withOrder(Self.definition, .init()) { order in
            var rows = [[ObjectID]](repeating: [], count: order.sectionCount)
            try order.forEachRow { rows[$0.path.section].append($0.id) }
            return rows
        }
    }

    private func events(_ outcome: FetchOutcome) -> Int? {
        switch outcome {
        case .hit: 0
        case .caughtUp(let change): change.rows.count
        case .rebuilt, .computed: nil
        }
    }

    @Test func aReaderThatFailsIsToldAgain() throws {
        try put([(3, 0, 50)])
        #expect(events(try read(failing: true)) == 1)
        try put([(4, 0, 51)])
        #expect(events(try read(failing: true)) == 2)
        #expect(events(try read()) == 2)
        #expect(try read() == .hit)
    }

    @Test func aRebuildIsToldUntilAReaderHasHadIt() throws {
        try put([(3, 0, 50)])
        let context = container.newContext()
        try context.deleteHistory(before: context.commit + 1)
        for _ in 0..<3 { #expect(try read(failing: true) == .rebuilt(.logTooShort)) }
        // A later change does not hide it.
        try put([(4, 0, 51)])
        #expect(try read() == .rebuilt(.logTooShort))
        #expect(try read() == .hit)
    }

    private func cutLog() throws {
        let context = container.newContext()
        try context.deleteHistory(before: context.commit + 1)
    }

    /// The second one waits for the build of the first.
    @Test func twoReadersOfAnUnusableCacheAreBothToldOfItsRebuild() throws {
        try put([(3, 0, 50)])
        try cutLog()
        let outcomes = Mutex<[FetchOutcome]>([])
        let readers = DispatchGroup()
        // Both have found the cache unusable when the first one builds it.
        var build = try container.store.beginBuild(limit: .seconds(1))
        for _ in 0..<2 {
            DispatchQueue.global().async(group: readers) { [container] in
                var options = PersistentContainer.OrderOptions(cacheName: "c")
                options.needsExactChange = true
                try? container.withOrder(Self.definition, options) { order in
                    outcomes.withLock { $0.append(order.outcome) }
                    throw ReaderFailed()
                }
            }
        }
        usleep(300_000)
        withExtendedLifetime(build) {}
        build = nil
        readers.wait()
        #expect(outcomes.withLock { $0 } == [.rebuilt(.logTooShort), .rebuilt(.logTooShort)])
        #expect(try read() == .rebuilt(.logTooShort))
        #expect(try read() == .hit)
    }

    /// The end of a reader says nothing of a rebuild that came after its own.
    @Test func aRebuildIsNotTakenForAnEarlierOne() throws {
        try put([(3, 0, 50)])
        try cutLog()
        try container.withOrder(Self.definition, options) { order in
            #expect(order.outcome == .rebuilt(.logTooShort))
            try put([(4, 0, 51)])
            try cutLog()
            #expect(try read(failing: true) == .rebuilt(.logTooShort))
        }
        #expect(try read() == .rebuilt(.logTooShort))
        #expect(try read() == .hit)
    }

    /// Others may write between a commit and the rebuild that it needs.
    @Test func aRebuildAtALaterCommitHidesNoChange() throws {
        try put([(3, 0, 50)])
        try cutLog()
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        try write([(4, 0, 51)], writer)
        try writer.commit(bringing: Self.definition, cacheName: "c") { outcome in
            #expect(outcome == .rebuilt(.logTooShort))
            try put([(5, 0, 52), (6, 0, 53)])
        }
        #expect(events(try read()) == 2)
        #expect(try read() == .hit)
    }

    @Test func whatTheReaderOfAMaintainedCacheMissesIsToldAgain() throws {
        try container.setMaintained(true, cacheNamed: "c")
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        func commit(_ item: (Int, Int, Int), failing: Bool = false) throws -> Int? {
            try write([item], writer)
            var count: Int?
            do {
                try writer.commit(bringing: Self.definition, cacheName: "c") { outcome in
                    count = events(outcome)
                    if failing { throw ReaderFailed() }
                }
            } catch is ReaderFailed {}
            return count
        }
        #expect(try commit((3, 0, 50), failing: true) == 1)
        #expect(try commit((4, 0, 51)) == 2)
        #expect(try commit((5, 0, 52), failing: true) == 1)
        try put([(6, 0, 53)])
        #expect(events(try read(failing: true)) == 2)
        #expect(events(try read()) == 2)
        #expect(try read() == .hit)
        // Other writers keep the cache current; its reader must still receive the change.
        try put([(7, 0, 54)])
        try put([(8, 0, 55)])
        #expect(events(try read()) == 2)
        #expect(try read() == .hit)
        try put([(9, 0, 56)])
        try cutLog()
        #expect(try read(failing: true) == .rebuilt(.logTooShort))
        #expect(try read() == .rebuilt(.logTooShort))
        #expect(try read() == .hit)
        #expect(try container.cacheStatistics().map(\.isFresh) == [true])
    }

    @Test func whatWasToldBeforeItsCacheBecameMaintainedIsNotToldAgain() throws {
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        try write([(3, 0, 50)], writer)
        _ = try writer.commit(bringing: Self.definition, cacheName: "c") { outcome, _ in #expect(events(outcome) == 1) }
        try container.setMaintained(true, cacheNamed: "c")
        try writer.storeTold()
        try put([(4, 0, 51)])
        #expect(events(try read()) == 1)
    }

    /// When a cache becomes maintained, and when it is no longer.
    @Test func aCacheThatOthersBringFurtherHidesNothingFromItsReader() throws {
        try put([(2, 0, 49)])
        try container.setMaintained(true, cacheNamed: "c")
        try put([(3, 0, 50)])
        #expect(events(try read()) == 2)
        try put([(3, 0, 51)])
        try container.setMaintained(false, cacheNamed: "c")
        try put([(4, 0, 51)])
        #expect(events(try read()) == 2)
        #expect(try read() == .hit)
    }

    /// The log is retained for the reader of a maintained cache. For the reader of a cache that is no longer
    /// maintained, it lasts only until it is trimmed.
    @Test(arguments: [false, true]) func aReaderKeepsTheLogOnlyOfAMaintainedCache(isStopped: Bool) throws {
        let folder = TemporaryFolder()
        var storeOptions = Store.Options()
        storeOptions.keptLogBytes = 2_000
        let container = try PersistentContainer(path: folder.path, model: Self.model, options: storeOptions)
        func read(exactly: Bool = true) throws -> FetchOutcome {
            var options = options
            options.needsExactChange = exactly
            return try container.withOrder(Self.definition, options) { $0.outcome }
        }
        func write(_ count: Int) throws {
            let writer = try BatchWriter(container, entity: "Item")
            for _ in 0..<count {
                let code = try container.store.snapshot().commit
                try writer.insert([.integer(Int64(code)), .integer(1), .integer(2)])
                try writer.commit()
                // Others bring the cache further.
                _ = try read(exactly: false)
            }
        }
        #expect(try read() == .rebuilt(.first))
        try container.setMaintained(true, cacheNamed: "c")
        try write(2)
        if isStopped { try container.setMaintained(false, cacheNamed: "c") }
        #expect(events(try read()) == 2)
        try container.setMaintained(true, cacheNamed: "c")
        try write(2)
        if isStopped { try container.setMaintained(false, cacheNamed: "c") }
        try write(200)
        let outcome = try read()
        if isStopped { #expect(outcome == .rebuilt(.logTooShort)) } else { #expect(events(outcome) == 202) }
        #expect(try read() == .hit)
        try container.setMaintained(true, cacheNamed: "c")
        try write(200)
        #expect(events(try read()) == 200)
    }

    /// The cache takes the state that the reader has had, and nothing of what others have written meanwhile.
    @Test func whatIsWrittenMeanwhileIsToldNext() throws {
        try put([(3, 0, 50)])
        try container.withOrder(Self.definition, options) { order in
            #expect(events(order.outcome) == 1)
            try put([(4, 0, 51), (5, 0, 52)])
        }
        #expect(events(try read()) == 2)
        #expect(try read() == .hit)
    }

    @Test func aReaderWithinAReaderTakesItsOwn() throws {
        try put([(3, 0, 50)])
        try container.withOrder(Self.definition, options) { order in
            #expect(events(order.outcome) == 1)
            try put([(4, 0, 51)])
            #expect(events(try read()) == 2)
        }
        #expect(try read() == .hit)
    }

    /// A writer of the same thread cannot be waited for.
    @Test func anOpenTransactionOfTheReaderLeavesTheCacheBehind() throws {
        try put([(3, 0, 50)])
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        try write([(4, 0, 51)], writer)
        #expect(events(try read()) == 1)
        #expect(events(try read()) == 1)
        try writer.commit()
        #expect(events(try read()) == 2)
        #expect(try read() == .hit)
    }

    @Test func aCommitIsSavedAndToldAgainWhereItsReaderFails() throws {
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        func commit(_ item: (Int, Int, Int), failing: Bool = false) throws -> Int? {
            try write([item], writer)
            var count: Int?
            do {
                try writer.commit(bringing: Self.definition, cacheName: "c") { outcome in
                    count = events(outcome)
                    if failing { throw ReaderFailed() }
                }
            } catch is ReaderFailed {}
            return count
        }
        #expect(try commit((3, 0, 50), failing: true) == 1)
        #expect(try commit((4, 0, 51)) == 2)
        #expect(try commit((5, 0, 52), failing: true) == 1)
        #expect(events(try read()) == 1)
        #expect(try read() == .hit)
        #expect(
            try !writer.commit(bringing: Self.definition, cacheName: "c") { _ in Issue.record("nothing was written") })
    }

    /// A list that takes each batch whose reader did not fail equals the order.
    @Test(arguments: 0..<16 as Range<UInt64>) func batchesOfReadersThatFailLeadToTheOrder(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        var list = try rows()
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        func take(_ outcome: FetchOutcome) throws {
            if Bool.random(using: &random) { throw ReaderFailed() }
            switch outcome {
            case .hit: break
            case .caughtUp(let change): list = try #require(change.replay(on: list))
            case .rebuilt, .computed: list = try rows()
            }
        }
        for step in 0..<60 {
            if step % 10 == 5, Bool.random(using: &random) {
                try container.setMaintained(Bool.random(using: &random), cacheNamed: "c")
            }
            let items = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                (
                    Int.random(in: 0..<30, using: &random), Int.random(in: 0..<4, using: &random),
                    Int.random(in: 0..<9, using: &random)
                )
            }
            do {
                switch Int.random(in: 0..<5, using: &random) {
                case 0: try put(items)
                case 1:
                    try write(items, writer)
                    try writer.commit(bringing: Self.definition, cacheName: "c") { try take($0) }
                case 2:
                    try write(items, writer)
                    _ = try writer.commit(bringing: Self.definition, cacheName: "c") { outcome, _ in try take(outcome) }
                case 3:
                    try writer.storeTold()
                    try container.withOrder(Self.definition, options) { try take($0.outcome) }
                default:
                    let context = container.newContext()
                    try context.deleteHistory(before: context.commit - 1)
                }
            } catch is ReaderFailed {}
            if step % 10 == 9 {
                try writer.storeTold()
                var isTaken = false
                while !isTaken {
                    do {
                        try container.withOrder(Self.definition, options) { try take($0.outcome) }
                        isTaken = true
                    } catch is ReaderFailed {}
                }
                #expect(try list == rows(), "seed \(seed), step \(step)")
            }
        }
    }
}

/// What the reader of a maintained cache has not had, where rows and sections depend on related objects.
@Suite struct ToldRelatedOrderTests {
    private static let model = Model(entities: [
        Entity(
            "Author", [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("books", toMany: "Book", inverse: "author")]),
        Entity(
            "Book", [AttributeDescription("size", .integer)],
            relationships: [RelationshipDescription("author", toOne: "Author", inverse: "books")]),
    ])

    private static let definitions = [
        OrderDefinition(
            entity: "Book", sortKeys: [SortKey("author.name"), SortKey("size")],
            sectionKey: .relationship("author", name: "name")),
        OrderDefinition(
            entity: "Book", predicate: try? FetchPredicate("author.name > 'c'"), sortKeys: [SortKey("size")],
            sectionKey: .attribute("author.name")),
    ]

    @Test(arguments: 0..<6 as Range<UInt64>, definitions.indices)
    func batchesOfReadersThatFailLeadToTheOrder(seed: UInt64, number: Int) throws {
        let definition = Self.definitions[number]
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let store = try LiveStore(Self.model)
        var options = PersistentContainer.OrderOptions(cacheName: "c")
        options.needsExactChange = true
        func rows() throws -> [[ObjectID]] {
            try store.container.withOrder(definition, .init()) { order in
                var rows = [[ObjectID]](repeating: [], count: order.sectionCount)
                try order.forEachRow { rows[$0.path.section].append($0.id) }
                return rows
            }
        }
        try store.container.withOrder(definition, options) { _ in }
        try store.container.setMaintained(true, cacheNamed: "c")
        let context = store.container.newContext()
        var (authors, books): ([ManagedObject], [ManagedObject]) = ([], [])
        var list = try rows()
        for step in 0..<40 {
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                switch Int.random(in: 0..<8, using: &random) {
                case 0: authors.append(try context.insert("Author"))
                case 1...2:
                    authors.randomElement(using: &random)?["name"] = .string(
                        String("abcdef".randomElement(using: &random)!))
                case 3 where !books.isEmpty:
                    context.delete(books.remove(at: Int.random(in: books.indices, using: &random)))
                case 4 where !authors.isEmpty && step % 7 == 6:
                    context.delete(authors.remove(at: Int.random(in: authors.indices, using: &random)))
                case 5: books.randomElement(using: &random)?.relate("author", to: authors.randomElement(using: &random))
                default:
                    let book = try context.insert("Book")
                    book["size"] = .integer(.random(in: 0..<9, using: &random))
                    book.relate("author", to: authors.randomElement(using: &random))
                    books.append(book)
                }
            }
            try context.save()
            guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
            let outcome = try store.container.withOrder(definition, options) { $0.outcome }
            switch outcome {
            case .hit: break
            case .caughtUp(let change): list = try #require(change.replay(on: list))
            case .rebuilt, .computed: Issue.record("\(outcome), seed \(seed), step \(step)")
            }
            #expect(try list == rows(), "seed \(seed), step \(step)")
        }
    }
}
