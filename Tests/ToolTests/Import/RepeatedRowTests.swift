import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Several rows of a file have the same key. The last row decides, and the object counts as updated only if that row
/// differs from the store.
@Suite struct RepeatedRowTests {
    private let tool: Tool

    init() throws { tool = try Tool() }

    private func put(_ path: String, _ options: String...) throws -> Tool.Result {
        try tool.run(["import", tool.store, path, "--entity", "Item", "--key", "k"] + options)
    }

    private func commit() throws -> Int? { try tool.run("info", tool.store, "--output", "json")["commit"] as? Int }

    /// Imports rows twice, and expects that the second import changes nothing.
    private func expectUnchanged(_ rows: [String], _ options: [String] = [], format: String = "csv") throws {
        let text = format == "csv" ? "k,v\n" + rows.joined() : rows.joined()
        let file = try tool.file("rows.\(format)", text)
        let arguments = ["import", tool.store, file, "--entity", "Item", "--key", "k"] + options
        #expect(try tool.run(arguments).status == 0)
        let (before, rowsBefore) = (try commit(), try tool.run("export", tool.store, "--entity", "Item").output)
        let again = try tool.run(arguments + ["--output", "json"])
        #expect(again["inserted"] as? Int == 0 && again["updated"] as? Int == 0, "\(again.output)\(again.error)")
        #expect(again["unchanged"] as? Int == rows.count, "\(again.output)")
        #expect(try commit() == before)
        #expect(try tool.run("export", tool.store, "--entity", "Item").output == rowsBefore)
    }

    @Test(arguments: [[], ["--replace"]]) func repeatingAnImportOfAdjacentRowsWithOneKeyChangesNoRows(options: [String])
        throws
    {
        try expectUnchanged((0..<3000).flatMap { ["\($0),first\n", "\($0),second\n"] }, options)
        #expect(try tool.rows("--entity", "Item", "--where", "v == 'second'").count == 3000)
    }

    @Test(arguments: [[], ["--replace"]]) func repeatingAnImportOfDistantRowsWithOneKeyChangesNoRows(options: [String])
        throws
    {
        let doubles = (0..<5).map { $0 * 20_000 }
        let first = (0..<120_000).map { "\($0),\(doubles.contains($0) ? "first" : "only")\n" }
        try expectUnchanged(first + doubles.map { "\($0),second\n" }, options)
        #expect(try tool.rows("--entity", "Item", "--where", "v == 'second'").count == 5)
    }

    @Test func repeatingAnImportOfJSONLinesWithOneKeyChangesNoRows() throws {
        let rows = (0..<100).flatMap {
            ["{\"k\":\($0),\"v\":1}\n", "{\"k\":\($0),\"v\":2}\n", "{\"k\":\($0),\"v\":3}\n"]
        }
        try expectUnchanged(rows, format: "jsonl")
    }

    /// Object 1 has two rows that change it, and object 2 has two rows that cancel each other. Object 4 is new.
    @Test func aChangedObjectOfSeveralRowsIsCountedOnce() throws {
        let file = try tool.file("a.csv", "k,v\n1,a\n2,b\n3,c\n")
        #expect(try put(file).output.contains("3 inserted"))
        let changed = try tool.file("b.csv", "k,v\n1,x\n2,x\n1,y\n4,new\n2,b\n4,newer\n")
        let result = try put(changed)
        #expect(result.output.contains("1 inserted, 1 updated, 4 unchanged"), "\(result.output)")
        #expect(
            try tool.run("export", tool.store, "--entity", "Item", "--format", "csv").output
                == "k,v\n1,y\n2,b\n3,c\n4,newer\n")
        let history = try PersistentContainer(path: tool.store).newContext().fetchHistory(after: 0)
        #expect(history.last?.changes.count == 2)
    }

    /// If a transaction of the import changes few objects, the changes wait for the next transaction, because later
    /// rows may undo them. They are saved at the end of the file at the latest, or before a bad row ends the import.
    @Test func updatesThatWaitForLaterRowsAreSaved() throws {
        let count = 160_000
        let rows = (0..<count).map { "\($0),\($0)\n" }
        #expect(try put(tool.file("a.csv", "k,v\n" + rows.joined()), "--types", "v:integer").status == 0)
        var changed = rows
        changed[10] = "10,-1\n"
        changed[70_000] = "70000,-1\n"
        let bad = try put(tool.file("bad.csv", "k,v\n" + changed.joined() + "1,x\n"))
        #expect(bad.error.contains("160,000 rows before it are saved"), "\(bad.error)")
        #expect(try tool.rows("--entity", "Item", "--where", "v == -1").count == 2)
        changed[11] = "11,-1\n"
        #expect(
            try put(tool.file("c.csv", "k,v\n" + changed.joined())).output.contains(
                "0 inserted, 1 updated, 159,999 unchanged"))
        #expect(try tool.rows("--entity", "Item", "--where", "v == -1").count == 3)
    }

    /// Two objects exchange the values of a second unique attribute, and one of the objects has two rows.
    @Test func rowsOfOneFileMayExchangeUniqueValues() throws {
        let entity = Entity(
            "Item",
            [AttributeDescription("k", .integer, isUnique: true), AttributeDescription("v", .string, isUnique: true)])
        _ = try PersistentContainer(path: tool.store, model: Model(entities: [entity]))
        #expect(try put(tool.file("a.csv", "k,v\n1,a\n2,b\n")).status == 0)
        let result = try put(tool.file("b.csv", "k,v\n1,c\n2,a\n1,b\n"))
        #expect(result.status == 0, "\(result.error)")
        #expect(try tool.run("export", tool.store, "--entity", "Item", "--format", "csv").output == "k,v\n1,b\n2,a\n")
        #expect(try tool.run("check", tool.store).status == 0)
    }

    /// Creates an entity of items with a parent, friends and peers.
    private func makeRelatedItems() throws {
        let relationships = [
            RelationshipDescription("parent", toOne: "Item", inverse: "children"),
            RelationshipDescription("children", toMany: "Item", inverse: "parent"),
            RelationshipDescription("friends", toMany: "Item", inverse: "friendOf"),
            RelationshipDescription("friendOf", toMany: "Item", inverse: "friends"),
            RelationshipDescription("peers", toMany: "Item", inverse: "peerOf"),
            RelationshipDescription("peerOf", toMany: "Item", inverse: "peers"),
        ]
        let entity = Entity(
            "Item", [AttributeDescription("k", .string, isUnique: true), AttributeDescription("v", .integer)],
            relationships: relationships)
        _ = try PersistentContainer(path: tool.store, model: Model(entities: [entity]))
    }

    @Test func repeatingAnImportOfKeysWithLinksToLaterRowsChangesNoRows() throws {
        try makeRelatedItems()
        try expectUnchanged(
            [
                #"{"@id":101,"k":"a","v":1,"parent":102}"#, #"{"@id":101,"k":"a","v":2,"parent":103}"#,
                #"{"@id":102,"k":"b","v":1,"friends":"103"}"#, #"{"@id":104,"k":"d","v":1,"parent":105}"#,
                #"{"@id":103,"k":"c","v":2}"#, #"{"@id":102,"k":"b","v":2,"friends":"105 101"}"#,
                #"{"@id":105,"k":"e","v":2,"parent":101}"#,
            ].map { $0 + "\n" }, format: "jsonl")
        #expect(try tool.rows("--entity", "Item", "--where", "k == 'a' AND parent.k == 'c' AND v == 2").count == 1)
        #expect(try tool.rows("--entity", "Item", "--where", "k == 'b' AND friends.@count == 2 AND v == 2").count == 1)
        #expect(try tool.rows("--entity", "Item", "--where", "k == 'd' AND parent.k == 'e' AND v == 1").count == 1)
        #expect(try tool.run("check", tool.store).status == 0)
    }

    /// The two rows of a repeated key are in different transactions.
    @Test func linksOfRepeatedKeysWaitForLaterRows() throws {
        try makeRelatedItems()
        let rows = (0..<60_000).map { "{\"@id\":\($0 + 1_000_000),\"k\":\"\($0)\",\"v\":1}" }
        let doubles = [
            #"{"@id":900001,"k":"a","v":1,"parent":1059999}"#,
            #"{"@id":900002,"k":"b","v":1,"friends":"1059999 1059998"}"#,
        ]
        let later = [
            #"{"@id":900001,"k":"a","v":2,"parent":1059997}"#, #"{"@id":900002,"k":"b","v":2,"friends":"1059996"}"#,
        ]
        var lines = doubles + rows[..<59_000]
        lines += later + rows[59_000...]
        try expectUnchanged(lines.map { $0 + "\n" }, format: "jsonl")
        #expect(try tool.rows("--entity", "Item", "--where", "k == 'a' AND parent.k == '59997'").count == 1)
    }

    @Test func repeatingAnImportOfManyRepeatedKeysWithLinksChangesNoRows() throws {
        try makeRelatedItems()
        let count = 6000
        let rows = (0..<2).flatMap { _ in
            (1...count).map { "\($0),k\($0),\(count + 1 + $0 % 10),\(Self.foreign)\n" }
        }
        let last = (0..<10).map { "\(count + 1 + $0),last\($0),,\(Self.foreign)\n" }
        let file = try tool.file("rows.csv", "@id,k,parent,@store\n" + (rows + last).joined())
        #expect(try put(file).status == 0)
        let again = try put(file, "--output", "json")
        #expect(again["unchanged"] as? Int == 2 * count + 10, "\(again.output)\(again.error)")
    }

    private static let foreign = "5D0C7B0E-6F2B-4A55-9D1C-0F5B1F1C2A11"

    @Test func anObjectWithSeveralLinksToLaterRowsIsCountedOnce() throws {
        try makeRelatedItems()
        let plain = try tool.file("a.jsonl", "{\"k\":\"a\"}\n{\"k\":\"b\"}\n")
        #expect(try put(plain).status == 0)
        let file = try tool.file(
            "b.jsonl", #"{"@id":7,"k":"a","parent":8,"friends":"8","peers":"8"}"# + "\n" + #"{"@id":8,"k":"b"}"# + "\n")
        let result = try put(file)
        #expect(result.output.contains("0 inserted, 1 updated, 1 unchanged"), "\(result.output)\(result.error)")
        #expect(try put(file).output.contains("0 inserted, 0 updated, 2 unchanged"))
    }
}
