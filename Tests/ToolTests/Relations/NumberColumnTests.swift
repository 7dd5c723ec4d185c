import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Columns named `@id` and `@store` have object numbers and identifiers of stores, or they are ordinary attributes.
@Suite struct NumberColumnTests {
    private let books: BookStores
    private var tool: Tool { books.tool }

    init() throws { books = try BookStores() }

    @Test func importsReadIDsOfJSONLDAsAttributes() throws {
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

    @Test(arguments: ["jsonl", "csv"]) func anIDColumnWithoutNumbersIsAnAttribute(format: String) throws {
        try books.make(tool.store, ["a"])
        let file = try tool.file(
            "ld.\(format)",
            format == "csv"
                ? "@id,isbn\nhttp://a.example/1,a\n" : "{\"@id\":\"http://a.example/1\",\"isbn\":\"a\"}\n")
        let refused = try books.put(tool.store, file, "--key", "isbn")
        #expect(refused.error.contains("no such attribute"), "\(refused.error)")
        #expect(refused.error.contains("--add-columns adds it"), "\(refused.error)")
        #expect(try books.put(tool.store, file, "--key", "isbn", "--add-columns").output.contains("1 updated"))
        #expect(try books.put(tool.store, file, "--key", "isbn").output.contains("1 unchanged"))
        // The column of numbers is called `@@id` now. After a row with a number in it, a row with another text in it is
        // a bad row.
        let mixed = try tool.file("mixed.csv", "@@id,isbn\n1,a\nhttp://a.example/1,b\n")
        let bad = try books.put(tool.store, mixed, "--key", "isbn")
        #expect(bad.error.contains("line 3, column 1 (@@id): \"http://a.example/1\" is not the number"), "\(bad.error)")
    }

    @Test(arguments: ["jsonl", "csv"]) func exportRenamesItsOwnColumnsIfAttributesHaveTheirNames(format: String)
        throws
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
        let file = try books.export(tool.store, "Node", format)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.contains("@@id") && text.contains("@@store"))
        let copy = tool.store + " copy"
        _ = try PersistentContainer(path: copy, model: Model(entities: entities))
        #expect(try tool.run("import", copy, file, "--entity", "Node").output.contains("2 inserted"))
        #expect(try tool.run("export", copy, "--entity", "Node", "--format", format).output == text)
    }

    @Test func aStoreColumnWithoutAnIdentifierIsReportedAsABadRow() throws {
        try books.make(tool.store, ["a"])
        let file = try tool.file("b.csv", "@id,isbn,@store\n1,a,shop\n")
        let result = try books.put(tool.store, file, "--key", "isbn")
        #expect(result.error.contains("(@store): \"shop\" is not the identifier of a store"), "\(result.error)")
    }
}
