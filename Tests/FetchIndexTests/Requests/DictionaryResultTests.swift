import FetchIndex
import FetchIndexTestSupport
import Testing

/// Fetches whose results are dictionaries of values.
@Suite struct DictionaryResultTests {
    @Test func limitAndOffsetCountDistinctResults() throws {
        let store = try LiveStore(Model(Book.self))
        let context = store.container.newContext()
        for (title, publisher) in [("a", "P"), ("b", "P"), ("c", "Q"), ("d", "P"), ("e", "R"), ("f", "S")] {
            let book = Book(context: context)
            (book.title, book.publisher, book.price) = (title, publisher, 1)
        }
        try context.save()
        var request = FetchRequest<Book>(sortKeys: [SortKey(\.title)])
        request.resultType = .dictionaries
        request.propertiesToFetch = ["publisher"]
        request.returnsDistinctResults = true
        func publishers() throws -> [Value?] {
            guard case .dictionaries(let rows) = try context.execute(request) else { return [] }
            return rows.map { $0["publisher"] }
        }
        #expect(try publishers() == ["P", "Q", "R", "S"])
        request.fetchLimit = 2
        #expect(try publishers() == ["P", "Q"])
        request.fetchOffset = 1
        #expect(try publishers() == ["Q", "R"])
        request.fetchOffset = 3
        #expect(try publishers() == ["S"])
    }
}
