import FetchIndex
import Foundation
import FetchIndexTestSupport
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

    /// Numbers of two stores in one file are those of different rows.
    @Test func numbersOfTwoStoresInOneFileLinkTheirOwnRows() throws {
        let (first, second) = (tool.store + " 1", tool.store + " 2")
        try make(first, ["a", "b"])
        try make(second, ["c", "d", "e"])
        let texts = try [first, second].map { try String(contentsOfFile: export($0), encoding: .utf8) }
        let rows = texts.map { $0.split(separator: "\n").map { $0 + "\n" } }
        try make(tool.store, ["x", "y"])
        // Row by row, so that each number is met with the other store's one before and behind it.
        let mixed = [rows[0][0], rows[1][0], rows[1][1], rows[0][1], rows[1][2]].joined()
        for text in [texts[0] + texts[1], mixed] {
            let file = try tool.file("both.jsonl", text)
            let result = try put(tool.store, file, "--key", "isbn")
            #expect(result.status == 0, "\(result.error)")
            #expect(try sequels(tool.store) == ["a A b", "b B", "c C d", "d D e", "e E", "x X y", "y Y"])
            #expect(try put(tool.store, file, "--key", "isbn").output.contains("0 inserted, 0 updated, 5 unchanged"))
        }
        // Without a key, the numbers of the second would be given twice.
        let new = tool.store + " new"
        _ = try PersistentContainer(path: new, model: Self.model)
        let result = try put(new, tool.file("both.jsonl", texts[0] + texts[1]), "--skip-bad-rows")
        #expect(result.output.contains("2 inserted") && result.output.contains("3 bad rows were skipped"))
        #expect(try sequels(new) == ["a A b", "b B"])
    }

    @Test(arguments: [
        "{\"isbn\":\"z\"}", "{\"@id\":null,\"@store\":\"STORE\",\"isbn\":\"z\"}", "{\"@id\":9,\"isbn\":\"z\"}",
    ])
    func aRowWithoutANumberBesideThoseOfAnotherStoreIsABadRow(row: String) throws {
        let copy = tool.store + " copy"
        try make(tool.store, ["a"])
        let identifier = try #require(try PersistentContainer(path: tool.store).storeIdentifier?.uuidString)
        let exported = try String(contentsOfFile: export(tool.store), encoding: .utf8)
        _ = try PersistentContainer(path: copy, model: Self.model)
        let row = row.replacingOccurrences(of: "STORE", with: identifier) + "\n"
        let result = try put(copy, tool.file("rows.jsonl", exported + row), "--skip-bad-rows")
        #expect(result.output.contains("1 inserted") && result.output.contains("1 bad row"), "\(result.output)")
        // The origin gives the number that the row would have got.
        #expect(try put(tool.store, tool.file("b.csv", "isbn\nb\n"), "--key", "isbn").status == 0)
        #expect(try put(copy, export(tool.store)).output.contains("1 inserted, 0 updated, 1 unchanged"))
        #expect(try sequels(copy) == ["a A", "b "])
    }

    @Test func aStoreThatIsNoIdentifierIsABadRow() throws {
        try make(tool.store, ["a"])
        let file = try tool.file("b.csv", "@id,isbn,@store\n1,a,shop\n")
        let result = try put(tool.store, file, "--key", "isbn")
        #expect(result.error.contains("(@store): \"shop\" is not the identifier of a store"), "\(result.error)")
    }

    /// Numbers that were given before the copy are shared, and those that either store gives afterwards are its own.
    @Test func aBackupGivesNumbersOfItsOwn() throws {
        let backup = tool.store + " backup"
        try make(tool.store, ["a", "b"], author: "ann")
        #expect(try tool.run("backup", tool.store, backup).status == 0)
        let identifiers = try [tool.store, backup].map { try PersistentContainer(path: $0).storeIdentifier }
        #expect(identifiers[0] != nil && identifiers[1] != nil && identifiers[0] != identifiers[1])
        // Until then each reads the other's export.
        #expect(try put(tool.store, export(backup)).output.contains("0 inserted, 0 updated, 2 unchanged"))
        #expect(try put(backup, export(tool.store)).output.contains("0 inserted, 0 updated, 2 unchanged"))
        #expect(try put(tool.store, tool.file("c.csv", "isbn,title\nc,C\n"), "--key", "isbn").status == 0)
        #expect(try put(backup, tool.file("d.csv", "isbn,title\nd,D\n"), "--key", "isbn").status == 0)
        let refusal = "3 is the number of an object in another store"
        #expect(try put(backup, export(tool.store)).error.contains("line 3, column 1 (@id): \(refusal)"))
        #expect(try put(tool.store, export(backup)).error.contains("line 1, column 1 (@id): 1 is the number of"))
        #expect(try sequels(tool.store) == ["a A b", "b B", "c C"])
        #expect(try sequels(backup) == ["a A b", "b B", "d D"])
        // With a key, both stores go on like unrelated stores.
        let authors = try tool.run("export", tool.store, "--entity", "Author").output
        #expect(authors.contains(identifiers[0]?.uuidString ?? "?"), "\(authors)")
        for store in [tool.store, backup] { #expect(try tool.run("check", store).output.contains("whole")) }
        // A copy of the copy shares with both.
        let second = tool.store + " second"
        #expect(try tool.run("backup", backup, second).status == 0)
        #expect(try put(second, export(backup)).output.contains("0 inserted, 0 updated, 3 unchanged"))
        #expect(try put(second, export(tool.store)).error.contains("line 3, column 1 (@id): \(refusal)"))
    }

    @Test func aBackupFollowsItsOriginalUntilItGivesNumbers() throws {
        let backup = tool.store + " backup"
        try make(tool.store, ["a", "b"], author: "ann")
        #expect(try tool.run("backup", tool.store, backup).status == 0)
        func commit() throws -> Int? { try tool.run("info", backup, "--output", "json")["commit"] as? Int }
        let before = try commit()
        #expect(try put(backup, export(tool.store)).output.contains("0 inserted, 0 updated, 2 unchanged"))
        #expect(try commit() == before)
        for isbn in ["c", "d"] {
            try addAuthor(isbn)
            #expect(try put(tool.store, tool.file("n.csv", "isbn,title\n\(isbn),X\n"), "--key", "isbn").status == 0)
            #expect(try put(backup, export(tool.store)).output.contains("1 inserted"))
            let authors = try tool.run("import", backup, export(tool.store, "Author"), "--entity", "Author")
            #expect(authors.output.contains("1 inserted"), "\(authors.error)")
        }
        for entity in ["Author", "Book"] {
            let exports = try [tool.store, backup].map { try tool.run("export", $0, "--entity", entity).output }
            #expect(exports[0] == exports[1])
        }
        #expect(try put(backup, tool.file("o.csv", "isbn,title\nown,OWN\n"), "--key", "isbn").status == 0)
        #expect(try put(tool.store, tool.file("e.csv", "isbn,title\ne,E\n"), "--key", "isbn").status == 0)
        let refused = try put(backup, export(tool.store))
        #expect(refused.error.contains("5 is the number of an object in another store"), "\(refused.error)")
        #expect(try tool.run("check", backup).status == 0)
    }

    private func addAuthor(_ name: String) throws {
        let context = try PersistentContainer(path: tool.store).newContext()
        try context.insert("Author")["name"] = .string(name)
        try context.save()
    }

    /// The ids of objects from before the copy name the same objects in both stores.
    @Test func aBackupSharesTheIDsOfItsOriginal() throws {
        let backup = tool.store + " backup"
        try make(tool.store, ["a"])
        #expect(try tool.run("backup", tool.store, backup).status == 0)
        func ids(_ store: String, adding isbn: String) throws -> [ObjectID] {
            let context = try PersistentContainer(path: store).newContext()
            try context.insert("Book")["isbn"] = .string(isbn)
            try context.save()
            return try context.fetch(FetchRequest<ManagedObject>(entityName: "Book", sortKeys: [SortKey("isbn")])).map(
                \.objectID)
        }
        let (here, there) = (try ids(tool.store, adding: "b"), try ids(backup, adding: "c"))
        #expect(here[0] == there[0] && here[0].uriRepresentation == there[0].uriRepresentation)
        #expect(here[1].number == there[1].number && here[1] != there[1])
        let context = try PersistentContainer(path: backup).newContext()
        #expect(try context.existingObject(with: here[0])["isbn"] == "a")
        #expect(throws: ContextError.otherStore(here[1])) { try context.existingObject(with: here[1]) }
    }

    @Test func theOriginOfAnExportIsOneForAllEntities() throws {
        let copy = tool.store + " copy"
        try make(tool.store, ["a"], author: "ann")
        let identifier = try #require(try PersistentContainer(path: tool.store).storeIdentifier?.uuidString)
        _ = try PersistentContainer(path: copy, model: Self.model)
        for entity in ["Author", "Book"] {
            #expect(try tool.run("import", copy, export(tool.store, entity), "--entity", entity).status == 0)
        }
        func stores() throws -> [Bool] {
            try ["Author", "Book"].map { try tool.run("export", copy, "--entity", $0).output.contains(identifier) }
        }
        #expect(try stores() == [true, true])
        #expect(try put(copy, tool.file("c.csv", "isbn\nc\n"), "--key", "isbn").status == 0)
        // A link of Book leads to Author, so the two files name one store.
        #expect(try stores() == [false, false])
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

    @Test(arguments: ["jsonl", "csv"]) func anIDThatIsNoNumberIsAnAttributeOfAStoredEntityToo(format: String) throws {
        try make(tool.store, ["a"])
        let file = try tool.file(
            "ld.\(format)",
            format == "csv"
                ? "@id,isbn\nhttp://a.example/1,a\n" : "{\"@id\":\"http://a.example/1\",\"isbn\":\"a\"}\n")
        let refused = try put(tool.store, file, "--key", "isbn")
        #expect(refused.error.contains("no such attribute"), "\(refused.error)")
        #expect(refused.error.contains("--add-columns adds it"), "\(refused.error)")
        #expect(try put(tool.store, file, "--key", "isbn", "--add-columns").output.contains("1 updated"))
        #expect(try put(tool.store, file, "--key", "isbn").output.contains("1 unchanged"))
        // Behind a number it is a bad row.
        let mixed = try tool.file("mixed.csv", "@@id,isbn\n1,a\nhttp://a.example/1,b\n")
        let bad = try put(tool.store, mixed, "--key", "isbn")
        #expect(bad.error.contains("line 3, column 1 (@@id): \"http://a.example/1\" is not the number"), "\(bad.error)")
    }

    /// The objects that an import makes have other numbers than its rows, which name each other only.
    @Test func withAKeyNumbersOfAFileAreNotThoseOfItsNewObjects() throws {
        try make(tool.store, ["x", "y"])
        let file = try tool.file("a.csv", "@id,isbn,sequel\n4,f,\n3,d,4\n")
        let result = try put(tool.store, file, "--key", "isbn")
        #expect(result.output.contains("2 inserted"), "\(result.output)\(result.error)")
        #expect(try sequels(tool.store) == ["d  f", "f ", "x X y", "y Y"])
        // A number that no row has doesn't name an object of this import either.
        let missing = try put(tool.store, tool.file("b.csv", "@id,isbn,sequel\n9,g,5\n8,h,\n"), "--key", "isbn")
        #expect(missing.error.contains("names a row by its number, which is not in the file"), "\(missing.error)")
        let other = try put(tool.store, tool.file("c.csv", "@id,isbn\n1,y\n"), "--key", "isbn")
        #expect(other.error.contains("is 1, but the object with that number has another isbn"), "\(other.error)")
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
