import FetchIndexTestSupport
import Foundation
import Testing

/// `import` of stores of Core Data.
@Suite struct CoreDataStoreTests {
    private let tool: Tool

    init() throws { tool = try Tool() }

    private static let stores = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../CoreDataTests/Stores").standardizedFileURL

    /// Copies a store under a name that doesn't say what it is.
    private func copy(_ name: String, to file: String = "app.data") throws -> String {
        let path = tool.folder.path + "/" + file
        for suffix in ["", "-wal"] {
            let source = Self.stores.path + "/\(name).sqlite\(suffix)"
            try? FileManager.default.removeItem(atPath: path + suffix)
            guard FileManager.default.fileExists(atPath: source) else { continue }
            try FileManager.default.copyItem(atPath: source, toPath: path + suffix)
        }
        return path
    }

    @Test func oneCommandBringsAStore() throws {
        let file = try copy("Shop")
        let result = try tool.run("import", tool.store, file)
        #expect(result.status == 0, "\(result.error)")
        #expect(
            result.output.contains(": 150 inserted, 0 updated, 0 unchanged, 0 deleted; links of"), "\(result.output)")
        #expect(result.error.contains("fetchindex: left out: transient attributes (1): Person.shown\n"))
        // The large values are not beside this copy.
        #expect(result.error.contains("values whose files beside the store cannot be read"))
        let sections = try tool.run(
            "fetch", tool.store, "--entity", "Item", "--section", "shelf.place", "--sort", "shelf.place,title",
            "--cache",
            "shelves", "--output", "json")
        #expect(sections.status == 0, "\(sections.error)")
        let later = try tool.run("import", tool.store, try copy("Shop2"), "--output", "json")
        let objects = later["objects"] as? [String: Any]
        #expect(objects?["inserted"] as? Int ?? 0 > 0 && objects?["deleted"] as? Int ?? 0 > 0, "\(later.output)")
        #expect((later["differences"] as? [[String: Any]])?.first?["kind"] as? String == "changed")
        #expect(try tool.run("import", tool.store, try copy("Shop2"), "--if-changed").status == 3)
        #expect(try tool.run("import", tool.store, try copy("Shop2"), "--if-changed", "--plan").status == 2)
        let changes = try tool.run("changes", tool.store, "--cache", "shelves")
        #expect(changes.output.hasPrefix("caughtUp"), "\(changes.output) \(changes.error)")
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func aPlanAndARefusedImportMakeNoStore() throws {
        let file = try copy("Shop")
        let plan = try tool.run("import", tool.store, file, "--plan", "--entity", "Shelf", "--without", "Special")
        #expect(plan.status == 0, "\(plan.error)")
        #expect(
            plan.output
                == "Shelf: 18 objects\nleft out: relationships to entities that are left out (1): Shelf.items\nnothing was written\n",
            "\(plan.output)")
        let strict = try tool.run("import", tool.store, file, "--strict")
        #expect(strict.status == 1)
        #expect(
            strict.error.hasPrefix("fetchindex: \(file): not all of it can be taken over: ")
                && strict.error.split(separator: "\n").count == 1, "\(strict.error)")
        let old = try tool.run("import", tool.store, try copy("ShopOld"))
        #expect(
            old.error
                == "fetchindex: \(file): the store does not contain its model, and the app's is not given; --model App.xcdatamodeld names it\n",
            "\(old.error)")
        #expect(!FileManager.default.fileExists(atPath: tool.store))
        let model = Self.stores.appendingPathComponent("Shop.xcdatamodeld").path
        #expect(try tool.run("import", tool.store, file, "--model", model).status == 0)
    }

    @Test func optionsOfOtherFilesAreRefused() throws {
        let file = try copy("Shop")
        for options in [["--key", "id"], ["--replace"], ["--types", "*:string"], ["--dry-run"], ["--skip-bad-rows"]] {
            let result = try tool.run(["import", tool.store, file] + options)
            #expect(result.status == 2, "\(options)")
            #expect(result.error.contains("A store of Core Data is imported with its own model"), "\(result.error)")
        }
        let rows = try tool.file("rows.csv", "a\n1\n")
        for options in [
            ["--plan"], ["--strict"], ["--without", "A"], ["--salvage"], ["--decode"], ["--same-identity"],
            ["--model", "a"],
        ] {
            let result = try tool.run(["import", tool.store, rows, "--entity", "A"] + options)
            #expect(result.status == 2 && result.error.contains("are for one store of Core Data"), "\(result.error)")
        }
        #expect(
            try tool.run("import", tool.store, rows).error.contains("--entity needs a name; only a store of Core Data"))
        let two = try tool.run("import", tool.store, rows, "--entity", "A", "--entity", "B")
        #expect(two.status == 2 && two.error.contains("--entity can be given once."))
        // A table of the database by name is an ordinary import.
        let table = try tool.run(
            "import", tool.store, try copy("Shop", to: "a.sqlite"), "--table", "ZLABEL", "--entity", "Row")
        #expect(table.status == 0 && table.output.contains("13 inserted"), "\(table.error)")
    }

    @Test func aDamagedStoreIsRefusedUnlessItIsSalvaged() throws {
        let file = try copy("Shop")
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
        bytes[4096 * 2 + 3] ^= 0x40
        bytes[4096 * 2 + 4] ^= 0x40
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        let refused = try tool.run("import", tool.store, file)
        #expect(refused.status == 1)
        #expect(
            refused.error.contains("the database is damaged: ") && refused.error.contains("--salvage"),
            "\(refused.error)")
    }

    /// The schema lies behind many other pages, or only in the log.
    @Test func storesAreRecognizedByTheirSchema() throws {
        let file = try copy("Shop")
        tool.sqlite(
            file,
            """
            CREATE TABLE large(b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
            INSERT INTO large SELECT zeroblob(100000) FROM n;
            CREATE TABLE copied AS SELECT * FROM Z_PRIMARYKEY; DROP TABLE Z_PRIMARYKEY;
            """)
        for number in 0..<40 { tool.sqlite(file, "CREATE TABLE t\(number)(\(String(repeating: "c", count: 200)))") }
        tool.sqlite(file, "CREATE TABLE Z_PRIMARYKEY AS SELECT * FROM copied; DROP TABLE copied")
        let late = try tool.run("import", tool.store, file, "--plan")
        #expect(late.status == 0 && late.output.hasSuffix("nothing was written\n"), "\(late.error)")
        let empty = tool.folder.path + "/empty.sqlite"
        tool.sqlite(empty, "PRAGMA journal_mode = WAL; CREATE TABLE t(a); DROP TABLE t")
        try? FileManager.default.removeItem(atPath: empty + "-wal")
        let lost = try tool.run("import", tool.store, empty)
        #expect(
            lost.status == 2
                && lost.error.contains(
                    "is a database without tables, and what was in its log is lost: \(empty)-wal is missing."),
            "\(lost.error)")
        let two = try tool.run("import", tool.store, file, try copy("Shop2", to: "other"))
        #expect(two.error.contains("Stores of Core Data are imported one at a time."), "\(two.error)")
    }

    @Test func aPlanSaysWhatTheObjectsHereForbid() throws {
        #expect(try tool.run("import", tool.store, copy("Shop")).status == 0)
        let file = try copy("Shop")
        tool.sqlite(file, "DELETE FROM ZNOTE; DELETE FROM ZTHING; DELETE FROM ZPERSON")
        let plan = try tool.run("import", tool.store, file, "--plan", "--replace-limit", "10")
        #expect(plan.status == 1 && plan.error.contains("more than 10 per cent"), "\(plan.error)")
        tool.sqlite(file, "UPDATE Z_METADATA SET Z_UUID = '11111111-1111-4111-8111-111111111111'")
        let other = try tool.run("import", tool.store, file, "--plan", "--replace-limit", "100")
        #expect(other.status == 1 && other.error.contains("but the imported one is"), "\(other.error)")
    }
}
