import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// What a file says of values and links: null and empty clear, absent keeps.
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

    /// The values of the one book, without its number.
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
        ], [[], ["--replace"]]) func nullAndEmptyLinksAreCleared(file: (name: String, text: String), options: [String])
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
    ]) func absentFieldsAreKept(file: (name: String, text: String)) throws {
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

    /// As `apply` does it: what one line lacks is kept, whatever other lines have.
    @Test func aMissingMemberIsKeptAndNullIsSet() throws {
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

    @Test func aMemberThatIsFirstSeenLateIsAColumn() throws {
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
            // An entity that has it, and no line of the first thousand.
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

    @Test func membersThatCannotBeNamedAreBadRows() throws {
        let lines = ["{\"k\":1}", "{\"\":2}", "{\"k\":3,\"a\\tb\":4}", "{\"k\":5}"]
        let file = try tool.file("names.jsonl", lines.joined(separator: "\n") + "\n")
        let stopped = try tool.run("import", tool.store, file, "--entity", "E")
        #expect(
            stopped.error.contains("line 2: a member has an empty name; 1 row before it is saved"), "\(stopped.error)")
        let result = try tool.run("import", tool.store + "2", file, "--entity", "E", "--skip-bad-rows")
        #expect(result.output.contains("2 inserted") && result.output.contains("2 bad rows were skipped"))
        #expect(result.output.contains("line 3: the name of the member \"a b\" has the control character U+0009"))
        let only = try tool.file("only.jsonl", "{\"\":2}\n{\"a\\nb\":1}\n")
        let none = try tool.run("import", tool.store + "3", only, "--entity", "E")
        #expect(none.status == 1 && none.error.contains("line 1: a member has an empty name"))
    }

    @Test func whatTypesAndExportCanNameIsFilled() throws {
        let lines = (0..<3).map { "{\"k\":\($0),\"a\\tb\":\($0 * 2)}\n" }.joined()
        let file = try tool.file("names.jsonl", lines)
        let arguments = ["import", tool.store, file, "--entity", "E", "--key", "k"]
        let result = try tool.run(arguments + ["--types", "a\tb:integer"])
        #expect(result.output.contains("3 inserted"), "\(result.error)")
        let exported = try tool.run("export", tool.store, "--entity", "E").output
        #expect(exported.contains("{\"a\\tb\":4,\"k\":2}") || exported.contains("{\"k\":2,\"a\\tb\":4}"))
        let again = try tool.run(
            "import", tool.store, tool.file("again.jsonl", exported), "--entity", "E", "--key", "k")
        #expect(again.output.contains("0 inserted, 0 updated, 3 unchanged"), "\(again.error)")
        #expect(try tool.run(arguments + ["--types", ":integer"]).status == 2)
    }

    @Test(arguments: [
        ("a.csv", "a;b\n1;2\n", "say --delimiter ';'; if not, --format csv --delimiter ,"),
        ("a.tsv", "a;b\n1;2\n", "say --format csv --delimiter ';'; if not, --format csv --delimiter ,"),
        ("a.csv", "a\tb\n1\t2\n", "say --delimiter tab; if not, --format csv --delimiter ,"),
    ]) func aHeaderWithAnotherDelimiterSaysWhatToType(name: String, text: String, advice: String) throws {
        let result = try tool.run("import", tool.store, tool.file(name, text), "--entity", "E")
        #expect(
            result.status == 1 && result.error.contains("which may separate columns or not: if it does, \(advice)"),
            "\(result.error)")
    }

    @Test(arguments: ["csv", "tsv"]) func aHeaderHasNamesThatTypesAndExportCanName(format: String) throws {
        let name = "a\u{1}b"
        let file = try tool.file("a.\(format)", format == "csv" ? "k,\(name)\n1,2\n" : "k\t\(name)\n1\t2\n")
        let arguments = ["import", tool.store, file, "--entity", "E", "--key", "k"]
        let refused = try tool.run(arguments)
        #expect(
            refused.status == 1
                && refused.error.contains(
                    "line 1, column 2: the first line must name the columns, each with a name of its own in UTF-8; this name, "
                        + "\"a b\", has the control character U+0001 (␁), which only the name of a column with a given type or of a "
                        + "stored attribute may have; --types gives a column its type"),
            "\(refused.error)")
        #expect(try tool.run(arguments + ["--types", "\(name):integer"]).output.contains("1 inserted"))
        let exported = try tool.run("export", tool.store, "--entity", "E", "--format", format).output
        let again = try tool.file("b.\(format)", exported)
        let result = try tool.run("import", tool.store, again, "--entity", "E", "--key", "k")
        #expect(result.output.contains("0 inserted, 0 updated, 1 unchanged"), "\(result.error)")
    }

    @Test func aHeaderOfCSVMayHaveLineEndsInKnownNames() throws {
        let file = try tool.file("a.csv", "k,\"a\nb\"\n1,2\n")
        let arguments = ["import", tool.store, file, "--entity", "E", "--key", "k"]
        #expect(try tool.run(arguments).error.contains("column 2: "))
        #expect(try tool.run(arguments + ["--types", "a\nb:integer"]).output.contains("1 inserted"))
        let exported = try tool.file("b.csv", tool.run("export", tool.store, "--entity", "E", "--format", "csv").output)
        let result = try tool.run("import", tool.store, exported, "--entity", "E", "--key", "k")
        #expect(result.output.contains("0 inserted, 0 updated, 1 unchanged"), "\(result.error)")
    }

    @Test func listsAreStoredAsTextWhereThatIsWanted() throws {
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

    /// `export --print-types` prints what `import --types` reads, whatever the names have.
    @Test func printedTypesAreRead() throws {
        let names = ["`", "``", "a`b", "`a`", ",", "a:b", "(", "a b", "k", "=", "名前"]
        let line = names.enumerated().map { "\"\($0.element)\":\"\($0.offset)\"" }.joined(separator: ",")
        let file = try tool.file("names.jsonl", "{\(line)}\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "E").status == 0)
        let types = try tool.run("export", tool.store, "--entity", "E", "--print-types").output.dropLast()
        let other = tool.store + " other"
        let result = try tool.run("import", other, file, "--entity", "E", "--types", String(types))
        #expect(result.output.contains("1 inserted"), "\(types): \(result.error)")
        #expect(try tool.run("export", other, "--entity", "E", "--print-types").output.dropLast() == types)
    }

    /// A type that is told for a member which no line has makes an attribute without values.
    @Test func aTypeMakesAnAttributeThatNoLineHas() throws {
        let file = try tool.file("a.jsonl", "{\"k\":1}\n")
        #expect(
            try tool.run("import", tool.store, file, "--entity", "E", "--types", "k:integer,note:string").status == 0)
        #expect(try tool.run("export", tool.store, "--entity", "E").output == "{\"k\":1,\"note\":null}\n")
    }
}
