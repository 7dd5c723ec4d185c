import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Makes stores of books with authors and sequels. Tests import the export of one store into another.
struct BookStores {
    let tool: Tool

    init() throws { tool = try Tool() }

    static let model = Model(entities: [
        Entity("Author", [AttributeDescription("name", .string, isUnique: true)]),
        Entity(
            "Book", [AttributeDescription("isbn", .string, isUnique: true), AttributeDescription("title", .string)],
            relationships: [
                RelationshipDescription("author", toOne: "Author"),
                RelationshipDescription("sequel", toOne: "Book", inverse: "prequels"),
                RelationshipDescription("prequels", toMany: "Book", inverse: "sequel"),
            ]),
    ])

    /// Makes a store of books. Each book is the sequel of the book before it.
    func make(_ store: String, _ isbns: [String], author: String? = nil) throws {
        let context = try PersistentContainer(path: store, model: Self.model).newContext()
        var last: ManagedObject?
        var writer: ManagedObject?
        if let author {
            writer = try context.insert("Author")
            writer?["name"] = .string(author)
        }
        try context.save()
        for isbn in isbns {
            let book = try context.insert("Book")
            (book["isbn"], book["title"]) = (.string(isbn), .string(isbn.uppercased()))
            if let writer { book.relate("author", to: writer) }
            last?.relate("sequel", to: book)
            last = book
            try context.save()
        }
    }

    func export(_ store: String, _ entity: String = "Book", _ format: String = "jsonl") throws -> String {
        let result = try tool.run("export", store, "--entity", entity, "--format", format)
        #expect(result.status == 0, "\(result.error)")
        return try tool.file("\(UUID().uuidString).\(format)", result.output)
    }

    func put(_ store: String, _ path: String, _ options: String...) throws -> Tool.Result {
        try tool.run(["import", store, path, "--entity", "Book"] + options)
    }

    /// A text for each book: its ISBN, its title, and the ISBN of its sequel, if any.
    func sequels(_ store: String) throws -> [String] {
        let context = try PersistentContainer(path: store).newContext()
        return try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")).map { book in
            "\(book["isbn"].stringValue ?? "") \(book["title"].stringValue ?? "")"
                + (book.relatedObject("sequel").map { " \($0["isbn"].stringValue ?? "")" } ?? "")
        }.sorted()
    }

    func addAuthor(_ name: String) throws {
        let context = try PersistentContainer(path: tool.store).newContext()
        try context.insert("Author")["name"] = .string(name)
        try context.save()
    }
}
