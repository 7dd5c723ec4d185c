import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Sections by index title and by units of a calendar.
@Suite struct SectionTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Book.self, Account.self))
        context = store.container.newContext()
        for (owner, balance) in [("Hora", 1), ("chata", 2), ("cena", 3), ("1984", 4), (nil, 5)] {
            let account = Account(context: context)
            (account.name, account.owner, account.balance) = ("\(balance)", owner, balance)
        }
        try context.save()
    }

    private func accounts(_ context: ManagedObjectContext) throws -> FetchedResultsController<Account> {
        var request = FetchRequest<Account>()
        request.sortKeys = [SortKey(\.owner, .ascending, .localized("cs"))]
        return try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .indexTitle("owner", locale: "cs"),
            cacheName: "by title")
    }

    @Test func sectionsAreNamedByIndexTitle() throws {
        let controller = try accounts(context)
        #expect(try controller.performFetch() == .rebuilt(.first))
        #expect(controller.listing(\.name) == [": 5", "#: 4", "C: 3", "H: 1", "CH: 2"])
        #expect(controller.sections.map(\.indexTitle) == [nil, "#", "C", "H", "CH"])
        #expect(controller.sectionIndexTitles == ["#", "C", "H", "CH"])
        #expect(controller.section(forSectionIndexTitle: "CH") == 4)
        let recorder = Recorder<Account>(\.name)
        controller.delegate = recorder
        controller.object(at: RowPath(section: 3, row: 0)).owner = "Chléb"
        try context.save()
        #expect(recorder.take() == ["will change", "section H delete 3 -", "1 move 3.0 3.1", "did change"])
        let again = try accounts(store.reopened().newContext())
        #expect(try again.performFetch() == .hit)
        #expect(again.sectionIndexTitles == ["#", "C", "CH"])
        #expect(try store.container.verifyCache("by title") == [])
    }

    @Test func dateSectionsFollowTimeZoneAndCalendar() throws {
        // The first two dates are a Sunday and a Monday in Japan, nine hours ahead of UTC.
        for (title, date) in [
            ("a", "2016-05-15T14:59:59Z"), ("b", "2016-05-15T15:00:00Z"), ("c", "2019-05-01T00:00:00Z"),
        ] {
            let book = Book(context: context)
            (book.title, book.publisher, book.price) = (title, "P", 1)
            guard case .date(let date) = Value(date, as: .date) else { continue }
            book.released = date
        }
        let undated = Book(context: context)
        (undated.title, undated.publisher, undated.price) = ("d", "P", 1)
        try context.save()
        func listing(_ unit: CalendarUnit, _ calendar: SectionCalendar) throws -> [String] {
            var request = FetchRequest<Book>()
            request.sortKeys = [SortKey(\.released)]
            let controller = try FetchedResultsController(
                fetchRequest: request, context: context,
                sectionKey: .date("released", unit, timeZone: "Asia/Tokyo", calendar: calendar), cacheName: "by date")
            try controller.performFetch()
            return controller.listing(\.title)
        }
        #expect(try listing(.week, .iso8601) == [": d", "2016-W19: a", "2016-W20: b", "2019-W18: c"])
        #expect(
            try listing(.week, .japanese.weeks(from: .sunday)) == [": d", "2016-05-15: a b", "2019-04-28: c"])
        #expect(try listing(.quarter, .iso8601) == [": d", "2016-Q2: a b", "2019-Q2: c"])
        #expect(try listing(.year, .japanese) == [": d", "2016-01-01: a b", "2019-05-01: c"])
        #expect(try store.container.verifyCache("by date") == [])
    }

    @Test(arguments: [
        SectionKey.bucket("balance", width: 0), .bucket("balance", width: -1), .prefix("name", -2),
        .prefix("name", .max),
        .computed("title") { (book: Book) in book.title },
    ]) func invalidSectionKeysAreErrors(key: SectionKey) throws {
        var request = FetchRequest<Account>()
        request.sortKeys = [SortKey(\.name)]
        let controller = try FetchedResultsController(fetchRequest: request, context: context, sectionKey: key)
        #expect(throws: RequestError.self) { try controller.performFetch() }
    }
}
