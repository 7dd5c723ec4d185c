import FetchIndex
import FetchIndexTestSupport
import Testing

/// Books by publisher and price.
@Suite struct BookTests {
    let store: LiveStore
    let context: ManagedObjectContext
    let controller: FetchedResultsController<Book>
    let recorder = Recorder<Book>(\.title)

    init() throws {
        store = try LiveStore(Model(Book.self))
        context = store.container.newContext()
        var request = FetchRequest<Book>()
        request.sortKeys = [SortKey(\.publisher), SortKey(\.price)]
        controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("publisher"),
            cacheName: "books by publisher")
        for (title, publisher, price) in [
            ("虐殺器官", "早川書房", 583), ("ハーモニー", "早川書房", 605), ("火花", "文藝春秋", 648), ("雪国", "新潮社", 400),
        ] {
            let book = Book(context: context)
            (book.title, book.publisher, book.price) = (title, publisher, price)
        }
        try context.save()
        controller.delegate = recorder
    }

    private func book(_ title: String) throws -> Book {
        var request = FetchRequest<Book>()
        request.predicate = try FetchPredicate("title == %@", title)
        return try #require(try context.fetch(request).first)
    }

    @Test func aControllerListsSectionsAndRowsInOrder() throws {
        #expect(try controller.performFetch() == .rebuilt(.first))
        #expect(controller.listing(\.title) == ["文藝春秋: 火花", "新潮社: 雪国", "早川書房: 虐殺器官 ハーモニー"])
        #expect(controller.sections.count == 3)
        #expect(controller.fetchedObjects?.count == 4)
        #expect(controller.object(at: RowPath(section: 2, row: 1)).title == "ハーモニー")
        #expect(controller.indexPath(forObject: try book("ハーモニー")) == RowPath(section: 2, row: 1))
        #expect(controller.sectionIndexTitles == ["文", "新", "早"])
        #expect(controller.section(forSectionIndexTitle: "新") == 1)
        let other = store.container.newContext()
        #expect(try other.fetch(controller.fetchRequest).map(\.title) == ["火花", "雪国", "虐殺器官", "ハーモニー"])
        #expect(recorder.take() == [])
    }

    @Test func aNewBookOfANewPublisherInsertsASectionAndARow() throws {
        try controller.performFetch()
        let book = Book(context: context)
        (book.title, book.publisher, book.price) = ("新世界より", "講談社", 1045)
        #expect(book.objectID.isTemporary)
        #expect(controller.indexPath(forObject: book) == nil)
        context.processPendingChanges()
        let inserted = ["will change", "section 講談社 insert - 3", "新世界より insert - 3.0", "did change"]
        #expect(recorder.take() == inserted)
        #expect(controller.indexPath(forObject: book) == RowPath(section: 3, row: 0))
        try context.save()
        #expect(recorder.take() == ["will change", "did change"], "a save reports the new id, and repeats no event")
        #expect(!book.objectID.isTemporary)
        #expect(controller.indexPath(forObject: book) == RowPath(section: 3, row: 0))

        let cheap = Book(context: context)
        (cheap.title, cheap.publisher, cheap.price) = ("そして夜は甦る", "早川書房", 1)
        try context.save()
        #expect(recorder.take() == ["will change", "そして夜は甦る insert - 2.0", "did change"])
        #expect(try store.container.verifyCache("books by publisher") == [])
    }

    @Test func changedTitlesGiveOneUpdateForEachRow() throws {
        try controller.performFetch()
        var request = FetchRequest<Book>()
        request.predicate = try FetchPredicate("publisher == '早川書房'")
        for book in try context.fetch(request) { book.title = "★" + book.title }
        try context.save()
        #expect(
            recorder.take() == [
                "will change", "★虐殺器官 update 2.0 2.0", "★ハーモニー update 2.1 2.1", "did change",
            ])
    }

    @Test func aNewPriceOrPublisherMovesTheBook() throws {
        try controller.performFetch()
        try book("虐殺器官").price = 700
        try context.save()
        #expect(recorder.take() == ["will change", "虐殺器官 move 2.0 2.1", "did change"])
        try book("火花").publisher = "新潮社"
        try context.save()
        #expect(
            recorder.take() == ["will change", "section 文藝春秋 delete 0 -", "火花 move 0.0 0.1", "did change"])
        try book("火花").price = 648
        try context.save()
        #expect(recorder.take() == [], "an equal value changes nothing")
    }

    @Test func deletingAllBooksOfAPublisherDeletesItsSection() throws {
        try controller.performFetch()
        for book in controller.sections[2].objects { context.delete(book) }
        try context.save()
        #expect(
            recorder.take() == [
                "will change", "section 早川書房 delete 2 -", "虐殺器官 delete 2.0 -", "ハーモニー delete 2.1 -",
                "did change",
            ])
        #expect(controller.listing(\.title) == ["文藝春秋: 火花", "新潮社: 雪国"])
    }

    @Test func batchDeletesAndInsertsAreReportedLikeOtherChanges() throws {
        try controller.performFetch()
        #expect(try context.execute(BatchDeleteRequest(entityName: "Book")) == 4)
        #expect(controller.sections.isEmpty)
        #expect(controller.fetchedObjects?.isEmpty == true)
        let deleted = recorder.take()
        #expect(deleted.filter { $0.hasPrefix("section") }.count == 3, "\(deleted)")
        #expect(deleted.count == 9, "\(deleted)")
        let rows: [[String: Value]] = [
            ["title": "雪国", "publisher": "新潮社", "price": 400], ["title": "火花", "publisher": "文藝春秋", "price": 648],
        ]
        #expect(
            try context.execute(BatchInsertRequest(entityName: "Book", objects: rows, in: Model(Book.self))) == 2)
        #expect(
            recorder.take() == [
                "will change", "section 文藝春秋 insert - 0", "section 新潮社 insert - 1", "火花 insert - 0.0",
                "雪国 insert - 1.0", "did change",
            ])
        #expect(try controller.performFetch() == .hit)
    }

    @Test func aRollbackReportsTheReverseChanges() throws {
        try controller.performFetch()
        let book = Book(context: context)
        (book.title, book.publisher, book.price) = ("a", "b", 1)
        try self.book("雪国").price = 500
        context.delete(try self.book("火花"))
        context.processPendingChanges()
        #expect(controller.listing(\.title) == ["b: a", "新潮社: 雪国", "早川書房: 虐殺器官 ハーモニー"])
        _ = recorder.take()
        try context.rollback()
        #expect(
            recorder.take() == [
                "will change", "section b delete 0 -", "section 文藝春秋 insert - 0", "a delete 0.0 -",
                "火花 insert - 0.0", "雪国 update 1.0 1.0", "did change",
            ])
        #expect(book.managedObjectContext == nil)
        #expect(!context.hasChanges)
        #expect(controller.listing(\.title) == ["文藝春秋: 火花", "新潮社: 雪国", "早川書房: 虐殺器官 ハーモニー"])
    }
}
