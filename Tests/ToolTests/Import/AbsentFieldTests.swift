import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Null fields of a file clear values and links, and empty fields clear links. Absent fields keep both.
@Suite struct AbsentFieldTests {
    private let tool: Tool

    init() throws { tool = try Tool() }

    private static let library = Model(entities: [
        Entity("Author", [AttributeDescription("name", .string, isUnique: true)]),
        Entity(
            "Book",
            [
                AttributeDescription("isbn", .string, isOptional: false, isUnique: true),
                AttributeDescription("title", .string, isOptional: false), AttributeDescription("price", .integer),
                AttributeDescription("stock", .integer, defaultValue: .integer(5)),
            ],
            relationships: [
                RelationshipDescription("author", toOne: "Author"),
                RelationshipDescription("tags", toMany: "Tag", inverse: "books"),
            ]),
        Entity(
            "Tag", [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("books", toMany: "Book", inverse: "tags")]),
    ])

    private func makeLibrary() throws {
        let context = try PersistentContainer(path: tool.store, model: Self.library).newContext()
        for name in ["ann", "bob"] { try context.insert("Author")["name"] = .string(name) }
        for name in ["x", "y"] { try context.insert("Tag")["name"] = .string(name) }
        try context.save()
        let rows = #"{"isbn":"a","title":"A","price":1,"author":1,"tags":"1 2"}"#
        #expect(try put("first.jsonl", rows + "\n").output.contains("1 inserted"))
        #expect(try book() == "a,A,1,5,1,1 2")
    }

    private func put(_ name: String, _ text: String, _ options: String...) throws -> Tool.Result {
        try tool.run(["import", tool.store, tool.file(name, text), "--entity", "Book", "--key", "isbn"] + options)
    }

    /// The values and links of the first book, without its number.
    private func book() throws -> String {
        let lines = try tool.run("export", tool.store, "--entity", "Book").output.split(separator: "\n")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data((lines.first ?? "").utf8)) as? [String: Any])
        return ["isbn", "title", "price", "stock", "author", "tags"].map { name in
            object[name].map { $0 is NSNull ? "" : "\($0)" } ?? "?"
        }.joined(separator: ",")
    }

    @Test(
        arguments: [
            ("b.jsonl", #"{"isbn":"a","title":"A","price":1,"author":null,"tags":null}"#),
            ("b.jsonl", #"{"isbn":"a","title":"A","price":1,"author":"","tags":""}"#),
            ("b.csv", "isbn,title,price,author,tags\na,A,1,,"),
            ("b.csv", "isbn,title,price,author,tags\na,A,1,\"\",\"\""),
            ("b.tsv", "isbn\ttitle\tprice\tauthor\ttags\na\tA\t1\t\t"),
        ], [[], ["--replace"]]) func nullAndEmptyFieldsClearLinks(file: (name: String, text: String), options: [String])
        throws
    {
        try makeLibrary()
        let path = try tool.file(file.name, file.text + "\n")
        let arguments = ["import", tool.store, path, "--entity", "Book", "--key", "isbn"] + options
        let result = try tool.run(arguments)
        #expect(result.output.contains("0 inserted, 1 updated, 0 unchanged"), "\(result.output)\(result.error)")
        #expect(try book() == "a,A,1,5,,")
        #expect(try tool.run(arguments).output.contains("0 inserted, 0 updated, 1 unchanged"))
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test(arguments: [
        ("b.jsonl", #"{"isbn":"a","title":"A"}"#), ("b.csv", "isbn,title\na,A"), ("b.jsonl", #"{"isbn":"a"}"#),
        ("b.csv", "isbn\na"),
    ]) func absentFieldsKeepValuesAndLinks(file: (name: String, text: String)) throws {
        try makeLibrary()
        let result = try put(file.name, file.text + "\n")
        #expect(result.output.contains("0 inserted, 0 updated, 1 unchanged"), "\(result.output)\(result.error)")
        #expect(try put(file.name, file.text + "\n", "--replace").output.contains("0 updated, 1 unchanged"))
        #expect(try book() == "a,A,1,5,1,1 2")
    }

    @Test func anImportThatChangesLinksOnlyIsAnUpdate() throws {
        try makeLibrary()
        let changed = #"{"isbn":"a","tags":"2"}"#
        #expect(try put("b.jsonl", changed + "\n").output.contains("0 inserted, 1 updated, 0 unchanged"))
        #expect(try book() == "a,A,1,5,1,2")
        #expect(try put("b.jsonl", changed + "\n").output.contains("0 inserted, 0 updated, 1 unchanged"))
        #expect(try put("c.jsonl", #"{"isbn":"a","author":2}"# + "\n").output.contains("1 updated"))
        #expect(try book() == "a,A,1,5,2,2")
    }

    /// If a line lacks a member, the object keeps its value, even if other lines have the member.
    @Test func aMissingMemberKeepsItsValueAndNullClearsIt() throws {
        try makeLibrary()
        let lines = [
            #"{"isbn":"b","title":"B","price":2}"#, #"{"isbn":"a","price":null}"#, #"{"isbn":"b","stock":7}"#,
            #"{"isbn":"c","title":"C"}"#,
        ]
        let result = try put("b.jsonl", lines.joined(separator: "\n") + "\n")
        #expect(result.status == 0, "\(result.error)")
        let rows = try tool.run(
            "fetch", tool.store, "--entity", "Book", "--sort", "isbn", "--columns", "isbn,title,price,stock",
            "--output",
            "csv"
        ).output
        #expect(rows == "isbn,title,price,stock\na,A,,5\nb,B,2,7\nc,C,,5\n")
    }

    @Test func aNewObjectNeedsItsRequiredValues() throws {
        try makeLibrary()
        for (name, text) in [
            ("n.jsonl", "{\"isbn\":\"a\",\"price\":9}\n{\"isbn\":\"new\",\"price\":1}\n"),
            ("n.csv", "isbn,price\na,9\nnew,1\n"),
        ] {
            let line = name == "n.csv" ? 3 : 2
            let refused = try put(name, text)
            #expect(refused.status == 1)
            #expect(
                refused.error.contains(
                    "line \(line): Book.title is required in a new object; 1 row before it is saved"),
                "\(refused.error)")
            let skipped = try put(name, text, "--skip-bad-rows")
            #expect(
                skipped.output.contains("0 inserted, 0 updated, 1 unchanged") && skipped.output.contains("1 bad row"))
        }
        #expect(try book() == "a,A,9,5,1,1 2")
    }

    @Test func aMemberThatFirstAppearsLateIsAnAttribute() throws {
        let early = (0..<1500).map { "{\"k\":\($0)}\n" }.joined()
        let file = try tool.file(
            "late.jsonl", early + "{\"k\":1500,\"late\":true,\"n\":1.5}\n{\"k\":3,\"late\":false}\n")
        func late(_ store: String) throws -> String {
            try tool.run(
                "fetch", store, "--entity", "E", "--where", "late != nil", "--sort", "k", "--columns", "k,late",
                "--output", "csv"
            ).output
        }
        for (number, options) in [[], ["--types", "late:boolean"], ["--types", "k:integer,late:boolean,n:double"]]
            .enumerated()
        {
            let store = tool.store + "\(number)"
            let result = try tool.run(["import", store, file, "--entity", "E", "--key", "k"] + options)
            #expect(result.output.contains("1,501 inserted"), "\(result.output)\(result.error)")
            #expect(try late(store) == "k,late\n3,false\n1500,true\n")
            // The entity has the attribute now, so the file can be imported again, although its first thousand lines
            // lack the member.
            #expect(try tool.run("import", store, file, "--entity", "E", "--key", "k").status == 0)
        }
        let added = tool.store + " added"
        let few = try tool.file("few.jsonl", "{\"k\":1}\n")
        #expect(try tool.run("import", added, few, "--entity", "E", "--key", "k").status == 0)
        let refused = try tool.run("import", added, file, "--entity", "E", "--key", "k")
        #expect(refused.error.contains("line 1501: \"late\" is not among the attributes k"), "\(refused.error)")
        #expect(try tool.run("import", added, file, "--entity", "E", "--key", "k", "--add-columns").status == 0)
        #expect(try late(added) == "k,late\n3,false\n1500,true\n")
    }

    @Test func listsAreStoredAsTextOnRequest() throws {
        let line = #"{"k":1,"list":[1, "a b",[ ],{"x": null, "y":[true,1.50]}],"object":{ },"plain":"[1]"}"#
        let file = try tool.file("lists.jsonl", line + "\n")
        let arguments = ["import", tool.store, file, "--entity", "E", "--key", "k"]
        #expect(try tool.run(arguments).error.contains("there is a list or an object"))
        #expect(try tool.run(arguments + ["--lists-as-text"]).output.contains("1 inserted"))
        let rows = try tool.rows("--entity", "E", "--sort", "k")
        #expect(rows.first?["list"] as? String == #"[1,"a b",[],{"x":null,"y":[true,1.50]}]"#)
        #expect(rows.first?["object"] as? String == "{}" && rows.first?["plain"] as? String == "[1]")
        #expect(try tool.run(arguments + ["--lists-as-text"]).output.contains("1 unchanged"))
        for bad in [#"{"k":1,"list":[1,]}"#, #"{"k":1,"list":[1}"#, #"{"k":1,"list":{"a"}}"#, #"{"k":1,"list":[1 2]}"#]
        {
            let result = try tool.run(
                "import", tool.store, tool.file("bad.jsonl", bad + "\n"), "--entity", "E", "--lists-as-text")
            #expect(result.status == 1 && result.error.contains("line 1: it is not a JSON object"), "\(bad)")
        }
        let deep = String(repeating: "[", count: 1_000_000) + String(repeating: "]", count: 1_000_000)
        let deepFile = try tool.file("deep.jsonl", "{\"k\":2,\"list\":\(deep)}\n")
        #expect(
            try tool.run("import", tool.store, deepFile, "--entity", "E", "--key", "k", "--lists-as-text").status == 0)
    }

    /// `--types` declares a member that no line has.
    @Test func aDeclaredTypeOfAnAbsentMemberAddsAnAttribute() throws {
        let file = try tool.file("a.jsonl", "{\"k\":1}\n")
        #expect(
            try tool.run("import", tool.store, file, "--entity", "E", "--types", "k:integer,note:string").status == 0)
        #expect(try tool.run("export", tool.store, "--entity", "E").output == "{\"k\":1,\"note\":null}\n")
    }
}
