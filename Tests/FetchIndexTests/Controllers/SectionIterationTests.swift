import FetchIndexPlatform
import FetchIndexLMDB
@testable import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndex

/// A loop over sections reads several sections at a time. If they can be read, it returns the same sections as single
/// reads.
@Suite struct SectionIterationTests {
    let store: LiveStore
    let context: ManagedObjectContext

    private static let sectionCount = 150

    init() throws {
        store = try LiveStore(Model(Book.self))
        context = store.container.newContext()
        for number in 0..<Self.sectionCount {
            for copy in 0...number % 3 {
                let book = Book(context: context)
                (book.title, book.publisher, book.price) = ("b\(copy)", Self.name(number), number)
            }
        }
        try context.save()
    }

    private static func name(_ number: Int) -> String { "P\(1000 + number)" }

    private func controller(
        in other: ManagedObjectContext? = nil, offset: Int = 0, limit: Int = 0, cacheName: String? = nil
    ) throws -> FetchedResultsController<Book> {
        var request = FetchRequest<Book>(sortKeys: [SortKey(\.title)])
        (request.fetchOffset, request.fetchLimit) = (offset, limit)
        request.aggregates = [.sum(\.price)]
        let controller = try FetchedResultsController(
            fetchRequest: request, context: other ?? context, sectionKey: .attribute("publisher"),
            sectionOrder: .byName(),
            cacheName: cacheName)
        try controller.performFetch()
        return controller
    }

    @Test(arguments: [0, 1, 5, 290]) func aLoopOverSectionsReadsTheSameSectionsAsSubscripts(offset: Int) throws {
        for limit in [0, 1, 130] {
            let sections = try controller(offset: offset, limit: limit).sections
            var index = 0
            for section in sections {
                let same = sections[index]
                #expect(section.name == same.name)
                #expect(section.count == same.count)
                #expect(section.rowsBefore == same.rowsBefore)
                #expect(section.aggregate(.sum(\.price)) == same.aggregate(.sum(\.price)))
                #expect(section.objects.map(\.objectID) == same.objects.map(\.objectID))
                index += 1
            }
            #expect(index == sections.count)
        }
    }

    @Test func aLoopOverSectionsSeesChangesMadeInItsBody() throws {
        let controller = try controller(cacheName: "books")
        var names: [String] = []
        for section in controller.sections {
            names.append(section.name)
            if names.count == 3 {
                // The fourth section is deleted, and a new last one is inserted.
                for book in Array(controller.sections[3].objects) { context.delete(book) }
                let book = Book(context: context)
                (book.title, book.publisher, book.price) = ("z", "Z", 1)
                context.processPendingChanges()
            }
        }
        let expected = (0..<Self.sectionCount).filter { $0 != 3 }.map(Self.name) + ["Z"]
        #expect(names == expected)
    }

    @Test func aLoopThatDeletesLaterSectionsEndsAtTheLastRemainingOne() throws {
        let controller = try controller()
        var count = 0
        for section in controller.sections {
            #expect(section.count > 0)
            count += 1
            guard count == 10 else { continue }
            for section in Array(controller.sections).dropFirst(20) {
                for book in Array(section.objects) { context.delete(book) }
            }
            context.processPendingChanges()
        }
        #expect(count == 20)
    }

    @Test func deletingFetchedObjectsInALoopSkipsEverySecondObject() throws {
        let store = try LiveStore(Model(Account.self))
        let context = store.container.newContext()
        for number in 0..<4 {
            let account = Account(context: context)
            (account.name, account.balance) = ("\(number)", 0)
        }
        try context.save()
        var request = FetchRequest<Account>()
        request.sortKeys = [SortKey(\.name)]
        let controller = try FetchedResultsController(fetchRequest: request, context: context)
        try controller.performFetch()
        var seen = 0
        for account in try #require(controller.fetchedObjects) {
            context.delete(account)
            try context.save()
            seen += 1
        }
        #expect(seen == 2)
        #expect(controller.fetchedObjects?.count == 2)
    }

    /// Overwrites every value of some tables with nonsense, runs the body, and restores the values.
    private func damaging(_ tables: [KeyPath<StoreTables, Table>], _ body: () throws -> Void) throws {
        let store = store.container.store
        let stored = try tables.map { table in
            let writer = try store.beginWrite()
            var values: [UInt64: [UInt8]] = [:]
            try writer.view.withCursor(on: writer.tables[keyPath: table]) { cursor in
                var isAtEntry = try cursor.seekToFirst()
                while isAtEntry {
                    values[cursor.integerKey] = [UInt8](copying: cursor.value)
                    isAtEntry = try cursor.seekToNext()
                }
            }
            let nonsense = [UInt8](repeating: 7, count: 100)
            for key in values.keys {
                try writer.view.put(nonsense.span.bytes, for: key, in: writer.tables[keyPath: table])
            }
            try writer.commit()
            return values
        }
        try body()
        let writer = try store.beginWrite()
        for (table, values) in zip(tables, stored) {
            for (key, value) in values {
                try writer.view.put(value.span.bytes, for: key, in: writer.tables[keyPath: table])
            }
        }
        try writer.commit()
    }

    @Test func sectionsOfADamagedCacheAreComputedFromRecords() throws {
        let expected = try controller(cacheName: "books").sections.map(\.name)
        try damaging([\.nodes]) {
            let other = store.container.newContext()
            for copies in [true, false] {
                let controller = try controller(in: other, cacheName: "books")
                var names: [String] = []
                if copies {
                    names = Array(controller.sections).map(\.name)
                } else {
                    for section in controller.sections { names.append(section.name) }
                }
                #expect(names == expected)
                #expect(controller.failure == nil)
            }
        }
    }

    @Test func unreadableSectionsAreEmpty() throws {
        _ = try controller(cacheName: "books").sections.count
        try damaging([\.nodes, \.records]) {
            let other = store.container.newContext()
            let controller = try controller(in: other, cacheName: "books")
            let sections = Array(controller.sections)
            #expect(sections.count == Self.sectionCount)
            #expect(sections.allSatisfy { $0.count == 0 && $0.aggregate(.sum(\.price)) == .null })
            #expect(controller.failure != nil)
            var count = 0
            for _ in controller.sections { count += 1 }
            #expect(count == 0)
        }
    }
}
