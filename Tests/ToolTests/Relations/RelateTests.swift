import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Imports with `--relate`: rows name related objects by a unique attribute.
@Suite struct RelateTests {
    private let tool: Tool

    init() throws { tool = try Tool() }

    private static let authors = "name,born\n村上春樹,1949\n大江健三郎,1935\n"
    private static let books = "title,price,author\nノルウェイの森,10,村上春樹\n海辺のカフカ,12,村上春樹\n個人的な体験,9,大江健三郎\n無名,1,\n"

    private func importAuthors() throws {
        let file = try tool.file("authors.csv", Self.authors)
        #expect(try tool.run("import", tool.store, file, "--entity", "Author", "--key", "name").status == 0)
    }

    private func importBooks(_ text: String = books, _ options: String...) throws -> Tool.Result {
        let file = try tool.file("books.csv", text)
        return try tool.run(
            ["import", tool.store, file, "--entity", "Book", "--relate", "author=Author.name"] + options)
    }

    private func titles(_ predicate: String) throws -> [String] {
        try tool.rows("--entity", "Book", "--sort", "title", "--where", predicate).compactMap { $0["title"] as? String }
    }

    @Test func rowsAreRelatedByAUniqueAttribute() throws {
        try importAuthors()
        #expect(try importBooks().status == 0)
        #expect(try titles("author.born > 1940") == ["ノルウェイの森", "海辺のカフカ"])
        #expect(try titles("author == NIL") == ["無名"])
        let rich = try tool.rows("--entity", "Author", "--where", "ANY books.price > 10")
        #expect(rich.map { $0["name"] as? String } == ["村上春樹"])
        let columns = try tool.run(
            "fetch", tool.store, "--entity", "Book", "--sort", "title", "--columns", "title,author.name,author",
            "--output", "csv")
        #expect(
            columns.output == """
                title,author.name,author
                ノルウェイの森,村上春樹,1
                個人的な体験,大江健三郎,2
                海辺のカフカ,村上春樹,1
                無名,,

                """)
        let sections = try tool.run(
            "fetch", tool.store, "--entity", "Book", "--section", "relationship(author,name)", "--sort", "price",
            "--cache", "by author", "--sections-only", "--output", "json")
        let names = (sections["sections"] as? [[String: Any]])?.map {
            "\($0["name"] as? String ?? "-") \($0["id"] ?? "-")"
        }
        #expect(names == ["- -", "大江健三郎 2", "村上春樹 1"])
        #expect(try tool.run("cache", "verify", tool.store, "by author").status == 0)
    }

    /// Neither a delta nor the changes of objects leave out a change of relationships without a word.
    @Test func changesOfRelationshipsAreToldAndCounted() throws {
        try importAuthors()
        let keyed = ["--key", "title"]
        let first = try tool.file("first.csv", Self.books)
        let import_ = ["import", tool.store, first, "--entity", "Book", "--relate", "author=Author.name"] + keyed
        let delta = tool.folder.path + "/delta.jsonl"
        let inserted = try tool.run(import_ + ["--delta-out", delta])
        #expect(inserted.error.hasSuffix("relationships of 3 objects changed, which a delta doesn't have\n"))
        #expect(try tool.run("bookmark", "add", tool.store, "mail").status == 0)
        let swapped = Self.books.replacingOccurrences(of: "12,村上春樹", with: "12,大江健三郎")
            .replacingOccurrences(of: "無名,1,", with: "無名,2,村上春樹")
        let second = try tool.file("second.csv", swapped)
        try FileManager.default.removeItem(atPath: delta)
        let updated = try tool.run(import_.map { $0 == first ? second : $0 } + ["--delta-out", delta])
        #expect(updated.error.hasSuffix("relationships of 2 objects changed, which a delta doesn't have\n"))
        #expect(
            try String(contentsOfFile: delta, encoding: .utf8) == #"{"op":"update","key":"無名","values":{"price":2}}"#
                + "\n")
        func changes(_ format: String) throws -> Tool.Result {
            try tool.run("changes", tool.store, "--entity", "Book", "--since", "mail", "--output", format)
        }
        let table = try changes("table")
        #expect(table.error == "fetchindex: only relationships of 1 printed object changed, not values\n")
        #expect(
            table.output == """
                update #2  海辺のカフカ  author: related changed
                update #4  無名  price: 1 → 2, author: related changed

                """)
        let lines = try changes("jsonl").output.split(separator: "\n")
        #expect(lines.allSatisfy { $0.contains(#","related":["author"]}"#) }, "\(lines)")
        let csv = try changes("csv").output.split(separator: "\n")
        #expect(csv[0] == "kind,id,key,entity,old,new,related" && csv[1].hasSuffix(",author"), "\(csv)")
        #expect(try changes("markdown").output.contains("author: changed"))
    }

    @Test func aMissingRelatedObjectIsAnErrorWithoutCreateRelated() throws {
        try importAuthors()
        let text = "title,author\n一,村上春樹\n二,三島由紀夫\n三,三島由紀夫\n"
        let refused = try importBooks(text)
        #expect(refused.status == 1)
        #expect(refused.error.contains("books.csv, line 3: Book.author names the Author whose name is \"三島由紀夫\""))
        #expect(refused.error.contains("--create-related inserts it"))
        #expect(try titles("TRUEPREDICATE") == ["一"])
        let skipped = try importBooks(text.replacingOccurrences(of: "一", with: "四"), "--skip-bad-rows")
        #expect(skipped.status == 0 && skipped.output.contains("2 bad rows were skipped"))
        let created = try importBooks("title,author\n二,三島由紀夫\n三,三島由紀夫\n", "--create-related")
        #expect(created.output.contains("2 inserted, 0 updated, 0 unchanged, 1 related created"))
        #expect(try titles("author.name == '三島由紀夫'") == ["三", "二"])
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func theCreateRelatedOptionAlsoCreatesAMissingEntity() throws {
        #expect(
            try importBooks().error.contains(
                "--relate names the entity Author, which the store lacks; import Author first"))
        #expect(try importBooks(Self.books, "--create-related").status == 0)
        #expect(try titles("author.name == '大江健三郎'") == ["個人的な体験"])
    }

    @Test func importsWithAKeyUpdateLinks() throws {
        try importAuthors()
        #expect(try importBooks(Self.books, "--key", "title").status == 0)
        let again = try importBooks(Self.books, "--key", "title")
        #expect(again.output.contains("0 inserted, 0 updated, 4 unchanged"))
        let changed = try importBooks("title,author\n無名,大江健三郎\n海辺のカフカ,\n", "--key", "title")
        #expect(changed.output.contains("2 updated"))
        #expect(try titles("author.name == '大江健三郎'") == ["個人的な体験", "無名"])
        #expect(try titles("author == NIL") == ["海辺のカフカ"])
        // An import of a file without the column keeps the links.
        let plain = try tool.file("plain.csv", "title,price\n無名,5\n")
        #expect(
            try tool.run("import", tool.store, plain, "--entity", "Book", "--key", "title").output.contains("1 updated")
        )
        #expect(try titles("price == 5 AND author.name == '大江健三郎'") == ["無名"])
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func twoColumnsMayRelateToOneEntity() throws {
        let file = try tool.file("p.csv", "title,author,editor\n一,甲,乙\n")
        let result = try tool.run(
            "import", tool.store, file, "--entity", "Book", "--relate", "author=Person.name", "--relate",
            "editor=Person.name", "--create-related")
        #expect(result.output.contains("1 inserted, 0 updated, 0 unchanged, 2 related created"), "\(result.error)")
        #expect(try titles("author.name == '甲' AND editor.name == '乙'") == ["一"])
        #expect(try tool.rows("--entity", "Person", "--where", "books.@count == 1").count == 1)
    }

    @Test func columnsAreAddedToAnEntityWithRelationships() throws {
        let people = try tool.file("p.csv", "name\n甲\n")
        #expect(try tool.run("import", tool.store, people, "--entity", "Person", "--key", "name").status == 0)
        let books = try tool.file("b.csv", "title,author\n一,甲\n")
        let command = ["--entity", "Book", "--key", "title"]
        let relate = ["--relate", "author=Person.name"]
        #expect(try tool.run(["import", tool.store, books] + command + relate).status == 0)
        let more = try tool.file("m.csv", "title,extra\n一,x\n")
        let result = try tool.run(["import", tool.store, more, "--add-columns"] + command)
        #expect(result.output.contains("1 updated"), "\(result.output)\(result.error)")
        #expect(try titles("author.name == '甲' AND extra == 'x'") == ["一"])
        // A column is also added to the destination of a relationship, and a relationship together with an attribute.
        let born = try tool.file("q.csv", "name,born\n甲,1900\n")
        let person = try tool.run("import", tool.store, born, "--entity", "Person", "--key", "name", "--add-columns")
        #expect(person.status == 0, "\(person.error)")
        let both = try tool.file("e.csv", "title,editor,pages\n一,甲,7\n")
        let edited = try tool.run(
            ["import", tool.store, both, "--add-columns", "--relate", "editor=Person.name"] + command)
        #expect(edited.status == 0, "\(edited.error)")
        #expect(try titles("author.born == 1900 AND editor.name == '甲' AND pages == 7") == ["一"])
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func addingARelationshipKeepsInheritedUniqueness() throws {
        let model = try tool.file(
            "model.json",
            #"{"entities":[{"name":"Work","isAbstract":true,"attributes":[{"name":"title","type":"string"},{"name":"volume","type":"integer"}],"unique":[["title","volume"]]},{"name":"Book","superentity":"Work","attributes":[]},{"name":"Person","attributes":[{"name":"name","type":"string","isUnique":true}]},{"name":"Author","superentity":"Person","attributes":[]}]}"#
        )
        #expect(try tool.run("model", "migrate", tool.store, "--to", model, "--create").status == 0)
        let file = try tool.file("b.csv", "title,volume,author\n一,1,甲\n一,1,甲\n")
        let refused = try tool.run("import", tool.store, file, "--entity", "Book", "--relate", "author=Author.name")
        #expect(refused.error.contains("Book has no relationship author; --add-columns adds it"))
        let result = try tool.run(
            "import", tool.store, file, "--entity", "Book", "--relate", "author=Author.name", "--add-columns",
            "--create-related")
        #expect(result.error.contains("line 3") && result.error.contains("must be unique"), "\(result.error)")
        let shown = try tool.run("model", "show", tool.store).output
        #expect(shown.contains("books: many of Book") && shown.contains("author: one of Author"))
        #expect(try titles("author.name == '甲'") == ["一"])
    }

    @Test(arguments: [
        (["--relate", "author=Author"], "--relate expects COLUMN=Entity.attribute"),
        (["--relate", "author=Author.born"], "Author.born is not unique"),
        (["--relate", "author=Author.x"], "Author has no attribute \"x\""),
        (["--relate", "publisher=Author.name"], "has no attribute \"publisher\""),
        (["--create-related"], "--create-related needs --relate"),
    ]) func invalidRelateOptionsAreRefused(options: [String], sentence: String) throws {
        try importAuthors()
        let file = try tool.file("books.csv", Self.books)
        let result = try tool.run(["import", tool.store, file, "--entity", "Book"] + options)
        #expect(result.status != 0 && result.error.contains(sentence), "\(result.error)")
    }

    @Test(arguments: [[], ["--create-related"]]) func aRowMayBeRelatedToAnEarlierRow(options: [String]) throws {
        let text = "name,boss\nAda,\nBob,Ada\nCy,Bob\nDi,Bob\n"
        let file = try tool.file("people.csv", text)
        let arguments =
            ["import", tool.store, file, "--entity", "Person", "--key", "name", "--relate", "boss=Person.name"]
            + options
        let result = try tool.run(arguments)
        #expect(result.output.contains("4 inserted, 0 updated, 0 unchanged"), "\(result.error)")
        #expect(options.isEmpty || result.output.contains("0 related created"))
        #expect(try tool.rows("--entity", "Person", "--where", "boss.boss.name == 'Ada'").count == 2)
        #expect(try tool.run(arguments).output.contains("0 inserted, 0 updated, 4 unchanged"))
        #expect(try tool.run("check", tool.store).status == 0)
    }
}
