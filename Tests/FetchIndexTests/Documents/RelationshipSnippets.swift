import FetchIndex
import Testing

// The examples of the article "Relationships" and of `Relationship`, word for word.

private enum Related1 {
    final class Publisher: ManagedObject {
        @Attribute("name", isUnique: true) var name: String
        @Relationship("books", inverse: "publisher", deleteRule: .deny) var books: Related<Book>
        @Attribute("country") var country: String?
    }

    final class Book: ManagedObject {
        @Attribute("title") var title: String
        @Relationship("publisher", inverse: "books") var publisher: Publisher?
        @Relationship("tags", inverse: "books") var tags: Related<Tag>
        @Relationship("chapters", inverse: "book", ordered: true, deleteRule: .cascade) var chapters: Related<Chapter>
    }

    final class Chapter: ManagedObject {
        @Attribute("title") var title: String
        @Relationship("book", inverse: "chapters", isRequired: true) var book: Book?
    }

    final class Tag: ManagedObject {
        @Attribute("name") var name: String
        @Relationship("books", inverse: "tags") var books: Related<Book>
    }
}

private enum Tree {
    final class Folder: ManagedObject {
        @Attribute("name") var name: String
        @Relationship("parent", inverse: "children") var parent: Folder?
        @Relationship("children", inverse: "parent", deleteRule: .cascade) var children: Related<Folder>
    }
}

private enum Authors {
    final class Author: ManagedObject {
        @Attribute("name") var name: String
        @Relationship("books", inverse: "author", deleteRule: .cascade) var books: Related<Book>
    }
    final class Book: ManagedObject {
        @Attribute("title") var title: String
        @Relationship("author", inverse: "books") var author: Author?
    }
}

@Suite struct RelationshipSnippets {
    private typealias Publisher = Related1.Publisher
    private typealias Book = Related1.Book
    private typealias Chapter = Related1.Chapter
    private typealias Tag = Related1.Tag

    @Test func theExampleOfRelationshipsWorksAsDocumented() throws {
        let container = try PersistentContainer(
            temporaryWith: Model(Publisher.self, Book.self, Chapter.self, Tag.self))
        let context = container.newContext()
        let publisher = Publisher(context: context)
        publisher.name = "早川書房"
        let book = Book(context: context)
        book.title = "虐殺器官"
        book.publisher = publisher
        assert(publisher.books.contains(book))

        let chapter = Chapter(context: context)
        chapter.title = "第一部"
        book.chapters.insert(chapter)
        book.chapters.move(chapter, to: book.chapters.startIndex)
        try context.save()

        #expect(publisher.books.contains(book) && Array(book.chapters) == [chapter])

        var request = FetchRequest<Book>(sortKeys: [SortKey("publisher.name"), SortKey("title")])
        let format = "publisher.name BEGINSWITH %@ AND ANY tags.name == %@"
        request.predicate = try FetchPredicate(format, "早川", "SF")
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("publisher.name"), cacheName: "names")
        try controller.performFetch()
        #expect(controller.sections.isEmpty)

        request.predicate = nil
        request.observedKeyPaths = ["publisher.country"]
        let books = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .relationship("publisher", name: "name"),
            cacheName: "publishers")
        try books.performFetch()
        #expect(books.sections.map(\.objectID) == [publisher.objectID])
        let events = Recorder<Book>(\.title)
        books.delegate = events
        publisher.country = "日本"
        context.processPendingChanges()
        #expect(events.take() == ["will change", "虐殺器官 update 0.0 0.0", "did change"])

        let latest = FetchRequest<Chat>(sortKeys: [SortKey("messages.@max.sentAt", .descending)])
        let chats = try PersistentContainer(temporaryWith: Model(Chat.self, ChatMessage.self)).newContext()
        #expect(try chats.fetch(latest).isEmpty)
    }

    @Test func theExampleOfTreesWorksAsDocumented() throws {
        let context = try PersistentContainer(temporaryWith: Model(Tree.Folder.self)).newContext()
        let root = Tree.Folder(context: context)
        root.name = "/"
        let child = Tree.Folder(context: context)
        (child.name, child.parent) = ("home", root)
        #expect(Array(root.children) == [child])
        #expect(Model(Authors.Author.self, Authors.Book.self).entities[0].relationships.count == 1)
    }
}
