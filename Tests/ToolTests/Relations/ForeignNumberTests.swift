import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Object numbers in files from other stores: `@id`, `@store` and `--key`.
@Suite struct ForeignNumberTests {
    private let books: BookStores
    private var tool: Tool { books.tool }

    init() throws { books = try BookStores() }

    @Test(arguments: ["jsonl", "csv", "tsv"])
    func importsWithAKeyDoNotTakeAnotherStoresNumbersAsTheirOwn(format: String) throws {
        let other = tool.store + " other"
        try books.make(tool.store, ["x", "y", "a"])
        try books.make(other, ["a", "b", "c"])
        let file = try books.export(other, "Book", format)
        let result = try books.put(tool.store, file, "--key", "isbn")
        #expect(result.output.contains("2 inserted, 1 updated, 0 unchanged"), "\(result.output)\(result.error)")
        #expect(try books.sequels(tool.store) == ["a A b", "b B c", "c C", "x X y", "y Y a"])
        #expect(try books.put(tool.store, file, "--key", "isbn").output.contains("0 inserted, 0 updated, 3 unchanged"))
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func importsWithoutAKeyRefuseNumbersOfAnotherStore() throws {
        let other = tool.store + " other"
        try books.make(tool.store, ["x", "y"])
        try books.make(other, ["a", "b", "c"])
        let result = try books.put(tool.store, books.export(other))
        #expect(result.status == 1)
        #expect(
            result.error.contains("line 1, column 1 (@id): 1 is the number of an object in another store; --key"),
            "\(result.error)")
        #expect(try books.sequels(tool.store) == ["x X y", "y Y"])
        // The store's own export can be imported.
        #expect(
            try books.put(tool.store, books.export(tool.store)).output.contains("0 inserted, 0 updated, 2 unchanged"))
    }

    @Test func linksToObjectsOfAnotherStoreAreRefused() throws {
        let other = tool.store + " other"
        try books.make(tool.store, ["x"], author: "ann")
        try books.make(other, ["a"], author: "bob")
        let result = try books.put(tool.store, books.export(other), "--key", "isbn")
        #expect(
            result.status == 1 && result.error.contains("\"1\" is the number of an object in another store"),
            "\(result.error)")
        #expect(try books.sequels(tool.store) == ["x X"])
    }

    /// The copy accepts further exports of the origin until both stores have given the same number to new objects.
    @Test func aStoreFilledFromAnExportHasTheObjectNumbersOfItsOrigin() throws {
        let copy = tool.store + " copy"
        try books.make(tool.store, ["a", "b"], author: "ann")
        _ = try PersistentContainer(path: copy, model: BookStores.model)
        func bring() throws -> Tool.Result {
            #expect(try tool.run("import", copy, books.export(tool.store, "Author"), "--entity", "Author").status == 0)
            return try books.put(copy, books.export(tool.store))
        }
        #expect(try bring().output.contains("2 inserted"))
        #expect(try bring().output.contains("0 inserted, 0 updated, 2 unchanged"))
        #expect(
            try String(contentsOfFile: books.export(copy), encoding: .utf8)
                == String(contentsOfFile: books.export(tool.store), encoding: .utf8))
        // The origin gets an object, and the copy imports it.
        let added = try tool.file("c.csv", "isbn,title\nc,C\n")
        #expect(try books.put(tool.store, added, "--key", "isbn").status == 0)
        #expect(try bring().output.contains("1 inserted, 0 updated, 2 unchanged"))
        // The copy and the origin each assign the number 4 to an object of their own.
        #expect(try books.put(copy, tool.file("d.csv", "isbn,title\nown,OWN\n"), "--key", "isbn").status == 0)
        #expect(try bring().output.contains("0 inserted, 0 updated, 3 unchanged"))
        #expect(try books.put(tool.store, tool.file("e.csv", "isbn,title\nd,D\n"), "--key", "isbn").status == 0)
        #expect(try bring().error.contains("line 4, column 1 (@id): 4 is the number of an object in another store"))
        #expect(try books.sequels(copy) == ["a A b", "b B", "c C", "own OWN"])
    }

    @Test func aRowWhoseNumberContradictsItsKeyIsReportedAsABadRow() throws {
        try books.make(tool.store, ["a", "b"])
        let file = try books.export(tool.store)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        for (changed, name) in [("\"isbn\":\"b\"", "the key of another object"), ("\"isbn\":\"new\"", "a new key")] {
            let edited = try tool.file("edited.jsonl", text.replacingOccurrences(of: "\"isbn\":\"a\"", with: changed))
            let result = try books.put(tool.store, edited, "--key", "isbn", "--skip-bad-rows")
            #expect(result.output.contains("1 bad row"), "\(name): \(result.output)")
            #expect(result.output.contains("line 1: Book.@id is 1, but the object with that number has another isbn"))
            #expect(try books.sequels(tool.store) == ["a A b", "b B"])
        }
        let table = try tool.file("t.csv", "@id,isbn,title\n1,b,X\n")
        #expect(try books.put(tool.store, table, "--key", "isbn").error.contains("line 2: Book.@id is 1"))
    }

    /// A row's link may lead to an earlier or to a later row.
    @Test func importsWithAKeyLinkRowsByTheNumbersInTheFile() throws {
        try books.make(tool.store, ["x", "y"])
        let text = "@id,isbn,title,sequel\n700,a,A,900\n800,b,B,700\n900,x,X,\n"
        let file = try tool.file("rows.csv", text)
        #expect(try books.put(tool.store, file, "--key", "isbn").output.contains("2 inserted, 1 updated"))
        #expect(try books.sequels(tool.store) == ["a A x", "b B a", "x X", "y Y"])
        #expect(try books.put(tool.store, file, "--key", "isbn").output.contains("0 inserted, 0 updated, 3 unchanged"))
    }

    /// Both stores gave the numbers 1 and 2, but to different books.
    @Test func inAFileWithRowsOfTwoStoresEachNumberRefersToARowOfItsStore() throws {
        let (first, second) = (tool.store + " 1", tool.store + " 2")
        try books.make(first, ["a", "b"])
        try books.make(second, ["c", "d", "e"])
        let texts = try [first, second].map { try String(contentsOfFile: books.export($0), encoding: .utf8) }
        let rows = texts.map { $0.split(separator: "\n").map { $0 + "\n" } }
        try books.make(tool.store, ["x", "y"])
        // In the second file, the rows of the two stores are mixed.
        let mixed = [rows[0][0], rows[1][0], rows[1][1], rows[0][1], rows[1][2]].joined()
        for text in [texts[0] + texts[1], mixed] {
            let file = try tool.file("both.jsonl", text)
            let result = try books.put(tool.store, file, "--key", "isbn")
            #expect(result.status == 0, "\(result.error)")
            #expect(try books.sequels(tool.store) == ["a A b", "b B", "c C d", "d D e", "e E", "x X y", "y Y"])
            #expect(
                try books.put(tool.store, file, "--key", "isbn").output.contains("0 inserted, 0 updated, 5 unchanged"))
        }
        // If the import has no key, the new store takes the numbers of the first store, and the rows of the second
        // store are bad rows.
        let new = tool.store + " new"
        _ = try PersistentContainer(path: new, model: BookStores.model)
        let result = try books.put(new, tool.file("both.jsonl", texts[0] + texts[1]), "--skip-bad-rows")
        #expect(result.output.contains("2 inserted") && result.output.contains("3 bad rows were skipped"))
        #expect(try books.sequels(new) == ["a A b", "b B"])
    }

    @Test(arguments: [
        "{\"isbn\":\"z\"}", "{\"@id\":null,\"@store\":\"STORE\",\"isbn\":\"z\"}", "{\"@id\":9,\"isbn\":\"z\"}",
    ])
    func aRowWithoutNumberOrStoreInAnotherStoresExportIsABadRow(row: String) throws {
        let copy = tool.store + " copy"
        try books.make(tool.store, ["a"])
        let identifier = try #require(try PersistentContainer(path: tool.store).storeIdentifier?.uuidString)
        let exported = try String(contentsOfFile: books.export(tool.store), encoding: .utf8)
        _ = try PersistentContainer(path: copy, model: BookStores.model)
        let row = row.replacingOccurrences(of: "STORE", with: identifier) + "\n"
        let result = try books.put(copy, tool.file("rows.jsonl", exported + row), "--skip-bad-rows")
        #expect(result.output.contains("1 inserted") && result.output.contains("1 bad row"), "\(result.output)")
        // The origin gets a book with number 2, which the copy imports.
        #expect(try books.put(tool.store, tool.file("b.csv", "isbn\nb\n"), "--key", "isbn").status == 0)
        #expect(try books.put(copy, books.export(tool.store)).output.contains("1 inserted, 0 updated, 1 unchanged"))
        #expect(try books.sequels(copy) == ["a A", "b "])
    }

    @Test func allEntitiesOfAStoreShareOneOriginOfObjectNumbers() throws {
        let copy = tool.store + " copy"
        try books.make(tool.store, ["a"], author: "ann")
        let identifier = try #require(try PersistentContainer(path: tool.store).storeIdentifier?.uuidString)
        _ = try PersistentContainer(path: copy, model: BookStores.model)
        for entity in ["Author", "Book"] {
            #expect(try tool.run("import", copy, books.export(tool.store, entity), "--entity", entity).status == 0)
        }
        func stores() throws -> [Bool] {
            try ["Author", "Book"].map { try tool.run("export", copy, "--entity", $0).output.contains(identifier) }
        }
        #expect(try stores() == [true, true])
        #expect(try books.put(copy, tool.file("c.csv", "isbn\nc\n"), "--key", "isbn").status == 0)
        // After a new book in the copy, neither file names the origin, because books link to authors.
        #expect(try stores() == [false, false])
    }

    /// With `--key`, a link's number leads to the row of the file that has this number in `@id`.
    @Test func importsWithAKeyLinkNewObjectsByTheirNumbersInTheFile() throws {
        try books.make(tool.store, ["x", "y"])
        let file = try tool.file("a.csv", "@id,isbn,sequel\n4,f,\n3,d,4\n")
        let result = try books.put(tool.store, file, "--key", "isbn")
        #expect(result.output.contains("2 inserted"), "\(result.output)\(result.error)")
        #expect(try books.sequels(tool.store) == ["d  f", "f ", "x X y", "y Y"])
        // A link to a number that no row of the file has is refused.
        let missing = try books.put(tool.store, tool.file("b.csv", "@id,isbn,sequel\n9,g,5\n8,h,\n"), "--key", "isbn")
        #expect(missing.error.contains("names a row by a number that is not in the file"), "\(missing.error)")
        let other = try books.put(tool.store, tool.file("c.csv", "@id,isbn\n1,y\n"), "--key", "isbn")
        #expect(other.error.contains("is 1, but the object with that number has another isbn"), "\(other.error)")
    }
}
