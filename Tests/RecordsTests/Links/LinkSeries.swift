import FetchIndexModels
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

/// A store of linked objects that random transactions write, and the graph that it must have.
final class LinkSeries {
    static let (author, book, cover, tag, join) = (0, 1, 2, 3, 4)

    private enum Operation: CaseIterable {
        case insertTargets
        case insertBook
        case updateBook
        case swapCovers
        case link
        case unlink
        case delete
    }

    let test: TestStore
    let seed: UInt64
    // The references of books.
    let toAuthor: EntityLinks.Reference
    let toCover: EntityLinks.Reference
    // The references of the join objects between books and tags.
    let toBook: EntityLinks.Reference
    let toTag: EntityLinks.Reference
    private let model: Model
    private var generator: SeededGenerator
    private(set) var graph: LinkGraph
    private var round = 0
    private(set) var refusedCount = 0
    private(set) var deniedCount = 0

    static func model(_ rule: DeleteRule) -> Model {
        Model(entities: [
            Entity(
                "Author", [],
                relationships: [
                    RelationshipDescription("books", toMany: "Book", inverse: "author", deleteRule: rule)
                ]),
            Entity(
                "Book", [],
                relationships: [
                    RelationshipDescription("author", toOne: "Author", inverse: "books"),
                    RelationshipDescription("cover", toOne: "Cover", inverse: "book"),
                    RelationshipDescription("tags", toMany: "Tag", inverse: "books"),
                ]),
            Entity("Cover", [], relationships: [RelationshipDescription("book", toOne: "Book", inverse: "cover")]),
            Entity("Tag", [], relationships: [RelationshipDescription("books", toMany: "Book", inverse: "tags")]),
        ])
    }

    init(_ rule: DeleteRule, seed: UInt64) throws {
        self.seed = seed
        test = try TestStore(model: Self.model(rule))
        model = try test.store.snapshot().model
        generator = SeededGenerator(seed: seed)
        graph = LinkGraph(rule)
        let books = try #require(model.entities[LinkSeries.book].links).references
        let links = try #require(model.entities[LinkSeries.join].links).references
        toAuthor = try #require(books.first { $0.relationship == "author" })
        toCover = try #require(books.first { $0.relationship == "cover" })
        toBook = try #require(links.first { $0.destinations == [LinkSeries.book] })
        toTag = try #require(links.first { $0.destinations == [LinkSeries.tag] })
    }

    private func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    /// One of these numbers; sometimes nil, and sometimes 99.
    private func anyNumber(of numbers: some Sequence<UInt64>) -> UInt64? {
        switch int(0...7) {
        case 0: nil
        case 1: 99
        default: numbers.sorted().randomElement(using: &generator)
        }
    }

    // MARK: Records

    private func reference(_ entity: Int, _ number: UInt64?) -> Value {
        number.map { .integer(Int64(RecordKey(entity: entity, number: $0).rawValue)) } ?? .null
    }

    private func record(_ book: LinkGraph.Book) throws -> [UInt8] {
        let empty = try model.entities[LinkSeries.book].record([])
        return try model.entities[LinkSeries.book].record(
            empty.span.bytes,
            setting: [
                toAuthor.slot: reference(Self.author, book.author), toCover.slot: reference(Self.cover, book.cover),
            ])
    }

    private func record(_ link: LinkGraph.Link) throws -> [UInt8] {
        let empty = RecordBuilder.empty
        return try model.entities[LinkSeries.join].record(
            empty.span.bytes,
            setting: [toBook.slot: reference(Self.book, link.book), toTag.slot: reference(Self.tag, link.tag)])
    }

    // MARK: Transactions

    func writeTransaction() throws {
        round += 1
        let before = try test.store.snapshot()
        let old = graph
        var new = graph
        let writer = try test.store.beginWrite()
        for _ in 0..<int(1...6) {
            let operation = Operation.allCases.randomElement(using: &generator) ?? .link
            let comment = "\(graph.rule), seed \(seed), round \(round): \(operation)"
            guard try perform(operation, writer, &new, comment) else {
                // The transaction is dropped.
                deniedCount += 1
                return
            }
        }
        try writer.commit()
        graph = new
        let comment = "\(graph.rule), seed \(seed), round \(round)"
        let snapshot = try test.store.snapshot()
        #expect(try snapshot.check() == [], "\(comment)")
        try check(new, in: snapshot, comment)
        try checkStateBefore(snapshot, old, before, comment)
    }

    /// Runs a write, and expects that it's refused if `isRefused`, and made otherwise. Returns whether the write was
    /// made.
    private func isDone(
        refused isRefused: Bool, _ comment: String, _ body: () throws -> Void
    ) throws -> Bool {
        do {
            try body()
            #expect(!isRefused, "\(comment): it was not refused")
            return true
        } catch let error as StoreError where error.isOfValues {
            #expect(isRefused, "\(comment): \(error)")
            refusedCount += 1
            return false
        }
    }

    /// Performs an operation on the store and on the graph. Returns false if a rule denies the deletion of an object.
    private func perform(
        _ operation: Operation, _ writer: StoreWriter, _ graph: inout LinkGraph, _ comment: String
    ) throws -> Bool {
        switch operation {
        case .insertTargets:
            for entity in [Self.author, Self.cover, Self.tag] {
                let record = try model.entities[entity].record([])
                let number = try writer.insert(entity, record.span.bytes).number
                switch entity {
                case Self.author: graph.authors.insert(number)
                case Self.cover: graph.covers.insert(number)
                default: graph.tags.insert(number)
                }
            }
        case .insertBook:
            let book = LinkGraph.Book(author: anyNumber(of: graph.authors), cover: anyNumber(of: graph.covers))
            let record = try record(book)
            var number: UInt64 = 0
            let isDone = try self.isDone(refused: !graph.allows(book), comment) {
                number = try writer.insert(Self.book, record.span.bytes).number
            }
            if isDone { graph.books[number] = book }
        case .updateBook:
            guard let (number, old) = graph.books.sorted(by: { $0.key < $1.key }).randomElement(using: &generator)
            else { return true }
            let book = LinkGraph.Book(
                author: int(0...2) == 0 ? old.author : anyNumber(of: graph.authors),
                cover: int(0...2) == 0 ? old.cover : anyNumber(of: graph.covers))
            let record = try record(book)
            let isDone = try self.isDone(refused: !graph.allows(book, replacing: old, except: number), comment) {
                try writer.update(RecordKey(entity: Self.book, number: number), record.span.bytes)
            }
            if isDone { graph.books[number] = book }
        case .swapCovers: try swapCovers(writer, &graph)
        case .link: try link(writer, &graph, comment)
        case .unlink:
            guard let number = graph.links.keys.sorted().randomElement(using: &generator) else { return true }
            graph.links[number] = nil
            #expect(try writer.delete(RecordKey(entity: Self.join, number: number)), "\(comment)")
        case .delete: return try delete(writer, &graph, comment)
        }
        return true
    }

    /// Two books exchange their covers, which each of them has to give up first.
    private func swapCovers(_ writer: StoreWriter, _ graph: inout LinkGraph) throws {
        let numbers = Array(graph.books.keys.sorted().shuffled(using: &generator).prefix(2))
        guard numbers.count == 2, let one = graph.books[numbers[0]], let other = graph.books[numbers[1]] else { return }
        let changes = [
            (numbers[0], one, LinkGraph.Book(author: one.author, cover: other.cover)),
            (numbers[1], other, LinkGraph.Book(author: other.author, cover: one.cover)),
        ]
        for (number, old, new) in changes {
            let (old, new) = (try record(old), try record(new))
            try writer.releaseLinks(
                of: RecordKey(entity: Self.book, number: number), old.span.bytes, for: new.span.bytes)
        }
        for (number, _, new) in changes {
            let record = try record(new)
            try writer.update(RecordKey(entity: Self.book, number: number), record.span.bytes)
            graph.books[number] = new
        }
    }

    private func link(_ writer: StoreWriter, _ graph: inout LinkGraph, _ comment: String) throws {
        guard let book = graph.books.keys.sorted().randomElement(using: &generator),
            let tag = graph.tags.sorted().randomElement(using: &generator)
        else { return }
        let link = LinkGraph.Link(book: book, tag: tag)
        let record = try record(link)
        let known = graph.links.first { $0.value == link }?.key
        #expect(try writer.join(like: record.span.bytes, of: Self.join)?.number == known, "\(comment)")
        if known == nil { graph.links[try writer.insert(Self.join, record.span.bytes).number] = link }
    }

    private func delete(_ writer: StoreWriter, _ graph: inout LinkGraph, _ comment: String) throws -> Bool {
        var objects: Set<LinkGraph.Object> = []
        for _ in 0..<int(1...3) {
            let (entity, numbers): (Int, [UInt64]) =
                switch int(0...3) {
                case 0: (Self.author, graph.authors.sorted())
                case 1: (Self.book, graph.books.keys.sorted())
                case 2: (Self.cover, graph.covers.sorted())
                default: (Self.tag, graph.tags.sorted())
                }
            guard let number = numbers.randomElement(using: &generator) else { continue }
            objects.insert(LinkGraph.Object(entity: entity, number: number))
        }
        let deleted = objects.sorted { ($0.entity, $0.number) < ($1.entity, $1.number) }
        let keys = deleted.map { RecordKey(entity: $0.entity, number: $0.number) }
        let isAllowed = graph.delete(deleted)
        do {
            #expect(try writer.delete(keys) == deleted.count, "\(comment)")
            #expect(isAllowed, "\(comment): it was not denied")
        } catch StoreError.deletionDenied { #expect(!isAllowed, "\(comment): it was denied") }
        return isAllowed
    }
}
