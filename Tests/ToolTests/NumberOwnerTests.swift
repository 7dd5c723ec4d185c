import FetchIndex
import Foundation
import TestSupport
import Testing

/// Numbers of objects in files, between stores: `@id`, `@store` and `--key`.
@Suite struct NumberOwnerTests {
    private let tool: Tool

    init() throws { tool = try Tool() }

    private static let model = Model(entities: [
        Entity("Author", [AttributeDescription("name", .string, isUnique: true)]),
        Entity(
            "Book", [AttributeDescription("isbn", .string, isUnique: true), AttributeDescription("title", .string)],
            relationships: [
                RelationshipDescription("author", toOne: "Author"),
                RelationshipDescription("sequel", toOne: "Book", inverse: "prequels"),
                RelationshipDescription("prequels", toMany: "Book", inverse: "sequel"),
            ]),
    ])

    /// Makes a store of books, each the sequel of the one before.
    private func make(_ store: String, _ isbns: [String], author: String? = nil) throws {
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

    private func export(_ store: String, _ entity: String = "Book", _ format: String = "jsonl") throws -> String {
        let result = try tool.run("export", store, "--entity", entity, "--format", format)
        #expect(result.status == 0, "\(result.error)")
        return try tool.file("\(UUID().uuidString).\(format)", result.output)
    }

    private func put(_ store: String, _ path: String, _ options: String...) throws -> Tool.Result {
        try tool.run(["import", store, path, "--entity", "Book"] + options)
    }

    /// Each book's title and the title of its sequel.
    private func sequels(_ store: String) throws -> [String] {
        let context = try PersistentContainer(path: store).newContext()
        return try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")).map { book in
            "\(book["isbn"].stringValue ?? "") \(book["title"].stringValue ?? "")"
                + (book.relatedObject("sequel").map { " \($0["isbn"].stringValue ?? "")" } ?? "")
        }.sorted()
    }

    @Test(arguments: ["jsonl", "csv", "tsv"]) func withAKeyNumbersOfAnotherStoreAreNotTakenForOurs(format: String)
        throws
    {
        let other = tool.store + " other"
        try make(tool.store, ["x", "y", "a"])
        try make(other, ["a", "b", "c"])
        let file = try export(other, "Book", format)
        let result = try put(tool.store, file, "--key", "isbn")
        #expect(result.output.contains("2 inserted, 1 updated, 0 unchanged"), "\(result.output)\(result.error)")
        #expect(try sequels(tool.store) == ["a A b", "b B c", "c C", "x X y", "y Y a"])
        #expect(try put(tool.store, file, "--key", "isbn").output.contains("0 inserted, 0 updated, 3 unchanged"))
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func withoutAKeyNumbersOfAnotherStoreAreRefused() throws {
        let other = tool.store + " other"
        try make(tool.store, ["x", "y"])
        try make(other, ["a", "b", "c"])
        let result = try put(tool.store, export(other))
        #expect(result.status == 1)
        #expect(
            result.error.contains("line 1, column 1 (@id): 1 is the number of an object in another store; --key"),
            "\(result.error)")
        #expect(try sequels(tool.store) == ["x X y", "y Y"])
        // Its own export is read back.
        #expect(try put(tool.store, export(tool.store)).output.contains("0 inserted, 0 updated, 2 unchanged"))
    }

    @Test func relatedObjectsOfAnotherStoreAreRefused() throws {
        let other = tool.store + " other"
        try make(tool.store, ["x"], author: "ann")
        try make(other, ["a"], author: "bob")
        let result = try put(tool.store, export(other), "--key", "isbn")
        #expect(
            result.status == 1 && result.error.contains("\"1\" is the number of an object in another store"),
            "\(result.error)")
        #expect(try sequels(tool.store) == ["x X"])
    }

    /// A store that was filled with another one's export has its numbers, until both go on by themselves.
    @Test func aFilledStoreKnowsTheNumbersOfItsOrigin() throws {
        let copy = tool.store + " copy"
        try make(tool.store, ["a", "b"], author: "ann")
        _ = try PersistentContainer(path: copy, model: Self.model)
        func bring() throws -> Tool.Result {
            #expect(try tool.run("import", copy, export(tool.store, "Author"), "--entity", "Author").status == 0)
            return try put(copy, export(tool.store))
        }
        #expect(try bring().output.contains("2 inserted"))
        #expect(try bring().output.contains("0 inserted, 0 updated, 2 unchanged"))
        #expect(
            try String(contentsOfFile: export(copy), encoding: .utf8)
                == String(contentsOfFile: export(tool.store), encoding: .utf8))
        // The origin goes on, and the copy follows.
        let added = try tool.file("c.csv", "isbn,title\nc,C\n")
        #expect(try put(tool.store, added, "--key", "isbn").status == 0)
        #expect(try bring().output.contains("1 inserted, 0 updated, 2 unchanged"))
        // The copy has a fourth of its own, and so has the origin.
        #expect(try put(copy, tool.file("d.csv", "isbn,title\nown,OWN\n"), "--key", "isbn").status == 0)
        #expect(try bring().output.contains("0 inserted, 0 updated, 3 unchanged"))
        #expect(try put(tool.store, tool.file("e.csv", "isbn,title\nd,D\n"), "--key", "isbn").status == 0)
        #expect(try bring().error.contains("line 4, column 1 (@id): 4 is the number of an object in another store"))
        #expect(try sequels(copy) == ["a A b", "b B", "c C", "own OWN"])
    }

    @Test func aRowWhoseNumberAndKeyDisagreeIsABadRow() throws {
        try make(tool.store, ["a", "b"])
        let file = try export(tool.store)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        for (changed, name) in [("\"isbn\":\"b\"", "the key of another object"), ("\"isbn\":\"new\"", "a new key")] {
            let edited = try tool.file("edited.jsonl", text.replacingOccurrences(of: "\"isbn\":\"a\"", with: changed))
            let result = try put(tool.store, edited, "--key", "isbn", "--skip-bad-rows")
            #expect(result.output.contains("1 bad row"), "\(name): \(result.output)")
            #expect(result.output.contains("line 1: Book.@id is 1, but the object with that number has another isbn"))
            #expect(try sequels(tool.store) == ["a A b", "b B"])
        }
        let table = try tool.file("t.csv", "@id,isbn,title\n1,b,X\n")
        #expect(try put(tool.store, table, "--key", "isbn").error.contains("line 2: Book.@id is 1"))
    }

    /// Numbers resolve links between the rows of a file, in either direction.
    @Test func withAKeyNumbersLinkTheRowsOfAFile() throws {
        try make(tool.store, ["x", "y"])
        let text = "@id,isbn,title,sequel\n700,a,A,900\n800,b,B,700\n900,x,X,\n"
        let file = try tool.file("rows.csv", text)
        #expect(try put(tool.store, file, "--key", "isbn").output.contains("2 inserted, 1 updated"))
        #expect(try sequels(tool.store) == ["a A x", "b B a", "x X", "y Y"])
        #expect(try put(tool.store, file, "--key", "isbn").output.contains("0 inserted, 0 updated, 3 unchanged"))
    }

    @Test func theIdentifiersOfJSONLDAreAttributes() throws {
        let lines =
            "{\"@id\":\"http://a.example/1\",\"@type\":\"Book\"}\n{\"@id\":\"http://a.example/2\",\"@type\":\"Book\"}\n"
        let file = try tool.file("ld.jsonl", lines)
        let arguments = ["import", tool.store, file, "--entity", "Thing", "--key", "@id"]
        #expect(try tool.run(arguments).output.contains("2 inserted"))
        #expect(try tool.run(arguments).output.contains("0 inserted, 0 updated, 2 unchanged"))
        #expect(try tool.run("export", tool.store, "--entity", "Thing").output == lines)
        let table = try tool.file("ld.csv", "@id,n\nhttp://a.example/1,1\n")
        #expect(try tool.run("import", tool.store + "2", table, "--entity", "Thing", "--key", "@id").status == 0)
    }

    @Test(arguments: ["jsonl", "csv"]) func anAttributeNamedAsTheNumberGivesNoTwoMembersOfOneName(format: String) throws
    {
        let entities = [
            Entity(
                "Node", [AttributeDescription("@id", .string), AttributeDescription("@store", .string)],
                relationships: [RelationshipDescription("next", toOne: "Node")])
        ]
        let context = try PersistentContainer(path: tool.store, model: Model(entities: entities)).newContext()
        let (first, second) = (try context.insert("Node"), try context.insert("Node"))
        (first["@id"], second["@id"]) = (.string("http://1"), .string("http://2"))
        first["@store"] = .string("s")
        try context.save()
        first.relate("next", to: second)
        try context.save()
        let file = try export(tool.store, "Node", format)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.contains("@@id") && text.contains("@@store"))
        let copy = tool.store + " copy"
        _ = try PersistentContainer(path: copy, model: Model(entities: entities))
        #expect(try tool.run("import", copy, file, "--entity", "Node").output.contains("2 inserted"))
        #expect(try tool.run("export", copy, "--entity", "Node", "--format", format).output == text)
    }
}
