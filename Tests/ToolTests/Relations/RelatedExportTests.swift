import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Exports of stores with relationships, and imports of rows with object numbers.
@Suite struct RelatedExportTests {
    private let tool: Tool

    init() throws { tool = try Tool() }

    private static let model = Model(entities: [
        Entity("House", [AttributeDescription("name", .string)]),
        Entity(
            "Book", [AttributeDescription("title", .string)],
            relationships: [
                RelationshipDescription("house", toOne: "House"),
                RelationshipDescription("tags", toMany: "Tag", inverse: "books", ordered: true),
                RelationshipDescription("chapters", toMany: "Chapter", inverse: "book", ordered: true),
            ]),
        Entity(
            "Novel", [AttributeDescription("title", .string), AttributeDescription("pages", .integer)],
            superentity: "Book"),
        Entity(
            "Chapter", [AttributeDescription("title", .string)],
            relationships: [RelationshipDescription("book", toOne: "Book", inverse: "chapters", isOptional: false)]),
        Entity(
            "Tag", [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("books", toMany: "Book", inverse: "tags", ordered: true)]),
        Entity(
            "Folder", [AttributeDescription("name", .string)],
            relationships: [
                RelationshipDescription("parent", toOne: "Folder", inverse: "children"),
                RelationshipDescription("children", toMany: "Folder", inverse: "parent"),
                RelationshipDescription("likes", toMany: "Folder", inverse: "likes", ordered: true),
                RelationshipDescription("twin", toOne: "Folder", inverse: "twin"),
            ]),
    ])

    private func fill(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let context = try PersistentContainer(path: tool.store, model: Self.model).newContext()
        var objects: [String: [ManagedObject]] = [:]
        func any(_ names: String...) -> ManagedObject? {
            names.flatMap { objects[$0] ?? [] }.randomElement(using: &generator)
        }
        func insert(_ entity: String, _ attribute: String, _ number: Int) throws -> ManagedObject {
            let object = try context.insert(entity)
            object[attribute] = .string("\(entity) \(number)")
            objects[entity, default: []].append(object)
            return object
        }
        for number in 0..<20 {
            _ = try insert("House", "name", number)
            let book = try insert(Bool.random(using: &generator) ? "Book" : "Novel", "title", number)
            book.relate("house", to: any("House"))
            try insert("Chapter", "title", number).relate("book", to: any("Book", "Novel"))
            let tag = try insert("Tag", "name", number)
            for _ in 0..<3 {
                if let book = any("Book", "Novel") {
                    let tags = book.relatedObjects("tags")
                    tags.insert(tag)
                    if Bool.random(using: &generator) { tags.move(tag, to: tags.startIndex) }
                }
            }
            let folder = try insert("Folder", "name", number)
            folder.relate("parent", to: any("Folder"))
            if let other = any("Folder") { folder.relatedObjects("likes").insert(other) }
            if Bool.random(using: &generator) { folder.relate("twin", to: any("Folder")) }
        }
        try context.save()
        for _ in 0..<6 { if let gone = any("House", "Tag", "Folder"), !gone.isDeleted { context.delete(gone) } }
        // This folder's row comes before the row of its parent.
        let folders = (objects["Folder"] ?? []).filter { !$0.isDeleted && $0.relatedObject("parent") == nil }
        if folders.count > 1 { folders[0].relate("parent", to: folders[folders.count - 1]) }
        try context.save()
    }

    @Test(arguments: zip([1, 2, 3] as [UInt64], ["csv", "tsv", "jsonl"])) func exportsOfAllEntitiesMakeAnEqualStore(
        seed: UInt64, format: String
    ) throws {
        try fill(seed: seed)
        let model = try tool.file("model.json", tool.run("model", "show", tool.store, "--output", "json").output)
        let copy = tool.folder.path + "/copy"
        #expect(try tool.run("model", "migrate", copy, "--to", model, "--create").status == 0)
        for entity in ["House", "Tag", "Book", "Novel", "Chapter", "Folder"] {
            let exported = try tool.run("export", tool.store, "--entity", entity, "--format", format)
            #expect(exported.status == 0)
            let file = try tool.file("\(entity).\(format)", exported.output)
            let result = try tool.run("import", copy, file, "--entity", entity)
            #expect(result.status == 0, "seed \(seed), \(entity): \(result.error)")
            let again = try tool.run("import", copy, file, "--entity", entity)
            #expect(again.output.contains("0 inserted, 0 updated"), "seed \(seed), \(entity): \(again.output)")
        }
        for entity in ["House", "Tag", "Book", "Novel", "Chapter", "Folder"] {
            let (first, second) = (
                try tool.run("export", tool.store, "--entity", entity).output,
                try tool.run("export", copy, "--entity", entity).output
            )
            #expect(first == second && first.contains("@id"), "seed \(seed), \(entity)")
        }
        #expect(try tool.run("check", copy).status == 0)
    }

    /// An export as CSV, without its last column, `@store`.
    private func exported(_ entity: String) throws -> String {
        let output = try tool.run("export", tool.store, "--entity", entity, "--format", "csv").output
        let rows = output.split(separator: "\n").map { $0.split(separator: ",", omittingEmptySubsequences: false) }
        #expect(rows.first?.last == "@store" && Set(rows.dropFirst().map(\.last)).count == 1)
        return rows.map { $0.dropLast().joined(separator: ",") + "\n" }.joined()
    }

    @Test func invalidObjectNumbersAreRefused() throws {
        try fill(seed: 4)
        let rows = [
            ("@id,name,parent\nx,a,\n", "the stored entity Folder has no such attribute; --add-columns adds it"),
            ("@id,name,parent\n,a,\nx,b,\n", "no such attribute"),
            ("@id,name,parent\n900,a,12x\n", "is not the number of an object, such as 12 or Entity:12"),
            ("@id,name,parent\n901,a,1 2\n", "it names 2 objects instead of one"),
            ("@id,name,parent\n902,a,House:1\n", "which is of another entity"),
            ("@id,name,parent\n903,a,999\n", "Folder.parent refers to Folder 999, which is not in the store"),
            ("@id,name,children\n904,a,1\n", "Folder.children is the other side of Folder.parent"),
        ]
        for (text, sentence) in rows {
            let file = try tool.file("folders.csv", text)
            let result = try tool.run("import", tool.store, file, "--entity", "Folder")
            #expect(result.status != 0 && result.error.contains(sentence), "\(text): \(result.error)")
        }
        #expect(try tool.run("check", tool.store).status == 0)
    }

    /// A refused row stores nothing, so that a later import can use its number.
    @Test func anImportUsesEachObjectNumberOnce() throws {
        let model = try tool.file(
            "model.json",
            #"{"entities":[{"name":"A","attributes":[{"name":"n","type":"string","isUnique":true}],"relationships":[{"name":"next","destination":"A"}]}]}"#
        )
        #expect(try tool.run("model", "migrate", tool.store, "--to", model).status != 0)
        #expect(try tool.run("model", "migrate", tool.store, "--to", model, "--create").status == 0)
        func importing(_ text: String, _ options: String...) throws -> Tool.Result {
            try tool.run(["import", tool.store, tool.file("a.csv", text), "--entity", "A"] + options)
        }
        #expect(try importing("@id,n,next\n5,a,\n9,b,5\n100000,c,9\n").output.contains("3 inserted"))
        #expect(try importing("@id,n,next\n100007,a,\n").error.contains("must be unique"))
        #expect(try importing("@id,n,next\n100007,d,100009\n100009,e,\n").output.contains("2 inserted"))
        #expect(try importing("@id,n\n7,x\n").error.contains("numbers below 100010 are no longer given to new objects"))
        for number in ["281474976710655", "281474976710656", "140737488355328", "140737488355327", "400000000"] {
            #expect(try importing("@id,n\n\(number),x\n").status == 1, "\(number)")
        }
        #expect(try importing("n\nlast\n").output.contains("1 inserted"))
        #expect(try exported("A") == "@id,n,next\n5,a,\n9,b,5\n100000,c,9\n100007,d,100009\n100009,e,\n100010,last,\n")
        let history = try PersistentContainer(path: tool.store).newContext().fetchHistory(after: 0)
        #expect(history.map { $0.changes.count } == [3, 2, 1])
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func importingIntoAnAbstractEntityIsAnError() throws {
        let model = try tool.file(
            "model.json",
            #"{"entities":[{"name":"P","isAbstract":true,"attributes":[{"name":"n","type":"string"}],"relationships":[{"name":"next","destination":"P"}]},{"name":"Q","superentity":"P","attributes":[]}]}"#
        )
        #expect(try tool.run("model", "migrate", tool.store, "--to", model, "--create").status == 0)
        let result = try tool.run("import", tool.store, tool.file("p.csv", "@id,n\n2,a\n"), "--entity", "P")
        #expect(result.status != 0 && result.error.contains("abstract"))
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func aListWithAnObjectOfAnotherEntityIsReportedAsABadRow() throws {
        try fill(seed: 5)
        let before = try tool.run("export", tool.store, "--entity", "Novel").output
        let row = try #require(before.split(separator: "\n").first)
        let changed = try #require(try JSONSerialization.jsonObject(with: Data(row.utf8)) as? [String: Any])
        let number = try #require(changed["@id"] as? Int)
        let file = try tool.file("novel.csv", "@id,title,tags\n\(number),other,House:1 1\n")
        let result = try tool.run("import", tool.store, file, "--entity", "Novel", "--skip-bad-rows")
        #expect(result.output.contains("0 inserted, 0 updated") && result.output.contains("1 bad row"))
        #expect(try tool.run("export", tool.store, "--entity", "Novel").output == before)
    }

    /// An export adds a position to each object number in the field of an ordered list (12@c0ff). If a field's numbers
    /// have no positions, the list has their order.
    @Test func anImportedListWithoutPositionsKeepsItsOrder() throws {
        try fill(seed: 6)
        #expect(
            try tool.run("import", tool.store, tool.file("t.csv", "@id,name\n101,x\n102,y\n103,z\n"), "--entity", "Tag")
                .status == 0)
        let file = try tool.file("b.csv", "@id,title,tags\n500,new,103 101 102\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Book").status == 0)
        let context = try PersistentContainer(path: tool.store).newContext()
        let book = try context.existingObject(with: context.objectID(of: "Book", number: 500))
        #expect(book.relatedObjects("tags").map(\.objectID.number) == [103, 101, 102])
    }

    /// The rows before a bad row are saved, with the links between them.
    @Test func aStoppedImportKeepsTheLinksOfSavedRows() throws {
        try fill(seed: 7)
        let text = "@id,name,parent\n1001,a,1002\n1002,b,1004\n1003,c,House:1\n1004,d,\n"
        let result = try tool.run("import", tool.store, tool.file("f.csv", text), "--entity", "Folder")
        #expect(
            result.error.contains("line 4")
                && result.error.contains("2 rows before it are saved, without 1 link to rows after it"))
        let rows = try tool.run(
            "fetch", tool.store, "--entity", "Folder", "--where", "name IN {'a', 'b'}", "--sort", "name", "--columns",
            "name,parent", "--output", "csv")
        #expect(rows.output == "name,parent\na,1002\nb,\n")
    }

    @Test func twoEntitiesWithLinksToEachOtherAreImportedInThreeSteps() throws {
        let model = try tool.file(
            "model.json",
            #"{"entities":[{"name":"A","attributes":[{"name":"n","type":"string"}],"relationships":[{"name":"b","destination":"B"}]},{"name":"B","attributes":[{"name":"n","type":"string"}],"relationships":[{"name":"a","destination":"A"}]}]}"#
        )
        #expect(try tool.run("model", "migrate", tool.store, "--to", model, "--create").status == 0)
        let (a, b) = (try tool.file("a.csv", "@id,n,b\n1,x,2\n"), try tool.file("b.csv", "@id,n,a\n2,y,1\n"))
        #expect(
            try tool.run("import", tool.store, a, "--entity", "A").error.contains(
                "the rows are saved without links that cannot be made"))
        #expect(try tool.run("import", tool.store, b, "--entity", "B").status == 0)
        #expect(try tool.run("import", tool.store, a, "--entity", "A").output.contains("1 updated"))
        #expect(try exported("A") == "@id,n,b\n1,x,2\n")
    }

    /// The delete rule `noAction` leaves a reference to a deleted object.
    @Test func danglingReferencesAreExportedAndImported() throws {
        let entities = [
            Entity(
                "Team", [AttributeDescription("n", .string)],
                relationships: [
                    RelationshipDescription("players", toMany: "Player", inverse: "team", deleteRule: .noAction)
                ]),
            Entity(
                "Player", [AttributeDescription("n", .string)],
                relationships: [RelationshipDescription("team", toOne: "Team", inverse: "players")]),
        ]
        let context = try PersistentContainer(path: tool.store, model: Model(entities: entities)).newContext()
        let (team, player) = (try context.insert("Team"), try context.insert("Player"))
        player.relate("team", to: team)
        try context.save()
        context.delete(team)
        try context.save()
        let copy = tool.folder.path + "/copy"
        let model = try tool.file("model.json", tool.run("model", "show", tool.store, "--output", "json").output)
        #expect(try tool.run("model", "migrate", copy, "--to", model, "--create").status == 0)
        let players = try tool.run("export", tool.store, "--entity", "Player").output
        #expect(try tool.run("import", copy, tool.file("p.jsonl", players), "--entity", "Player").status == 0)
        #expect(try tool.run("export", copy, "--entity", "Player").output == players)
    }

    /// Rows of one file exchange the objects of a one-to-one relationship, in cycles of two and of three rows.
    @Test(arguments: ["--key", ""]) func rowsMayExchangeOneToOneLinks(option: String) throws {
        let entities = [
            Entity(
                "Desk", [AttributeDescription("n", .string, isUnique: true)],
                relationships: [RelationshipDescription("user", toOne: "Person", inverse: "desk")]),
            Entity(
                "Person", [AttributeDescription("n", .string, isUnique: true)],
                relationships: [RelationshipDescription("desk", toOne: "Desk", inverse: "user")]),
        ]
        let context = try PersistentContainer(path: tool.store, model: Model(entities: entities)).newContext()
        for number in 1...4 {
            let (person, desk) = (try context.insert("Person"), try context.insert("Desk"))
            (person["n"], desk["n"]) = (.string("p\(number)"), .string("d\(number)"))
            if number < 4 { desk.relate("user", to: person) }
        }
        try context.save()
        func users(_ rows: String) throws -> Tool.Result {
            let header = option.isEmpty ? "@id,user" : "n,user"
            let arguments = [
                "import", tool.store, try tool.file("desks.csv", header + "\n" + rows), "--entity", "Desk",
            ]
            return try tool.run(arguments + (option.isEmpty ? [] : ["--key", "n"]))
        }
        func name(_ number: Int) -> String { option.isEmpty ? "\(number)" : "d\(number)" }
        let swap = "\(name(1)),2\n\(name(2)),1\n"
        let result = try users(swap)
        #expect(result.output.contains("0 inserted, 2 updated, 0 unchanged"), "\(result.output)\(result.error)")
        #expect(try users(swap).output.contains("0 inserted, 0 updated, 2 unchanged"))
        #expect(try users("\(name(1)),1\n\(name(2)),3\n\(name(3)),2\n").output.contains("3 updated"))
        // Person 3 already has a desk, which isn't in the file. So the link is refused, and desk 1 keeps its old link.
        let taken = try users("\(name(1)),3\n")
        #expect(taken.status == 1 && taken.error.contains("line 2: Desk.user"), "\(taken.error)")
        let context2 = try PersistentContainer(path: tool.store).newContext()
        let desks = try context2.fetch(FetchRequest<ManagedObject>(entityName: "Desk"))
        #expect(desks.map { $0.relatedObject("user")?.objectID.number } == [1, 3, 2, nil])
        #expect(try tool.run("check", tool.store).status == 0)
    }
}
