import FetchIndexTestSupport
import Foundation
import Testing

/// Tables of SQLite databases.
@Suite struct SQLiteImportTests {
    private let tool: Tool

    init() throws { tool = try Tool() }

    private func database(_ name: String, _ sql: String) throws -> String {
        let path = tool.folder.path + "/" + name
        tool.sqlite(path, sql)
        return path
    }

    private let books = """
        CREATE TABLE books (isbn TEXT PRIMARY KEY, price INTEGER, weight REAL, sold BOOLEAN, cover BLOB, note, day DATE);
        INSERT INTO books VALUES ('0042', 583, 0.1, 1, x'00ff', 1.50, '2024-01-31'), ('x"y', -1, 2, 0, NULL, 7, '2024-02-01'),
            ('', NULL, 1e300, NULL, x'', NULL, NULL);
        """

    @Test func theTypesAndTheKeyOfATableAreTakenOver() throws {
        let file = try database("books.sqlite", books)
        let result = try tool.run("import", tool.store, file, "--entity", "Book")
        #expect(result.status == 0, "\(result.error)")
        #expect(
            try tool.run("export", tool.store, "--print-types").output
                == "isbn:string,price:integer,weight:double,sold:boolean,cover:data,note:decimal,day:date\n")
        let rows = try tool.run("export", tool.store, "--format", "csv").output.split(separator: "\n")
        #expect(
            rows[1] == "0042,583,0.1,true,00ff,1.5,2024-01-31T00:00:00Z"
                || rows[1].hasPrefix("0042,583,0.1,true,00ff,1.5,2024-01-31"))
        #expect(rows[2].hasPrefix("\"x\"\"y\",-1,2.0,false,,7,2024-02-01"))
        #expect(rows.count == 4)
        // The primary key is unique, so that the same table changes nothing.
        #expect(try tool.run("import", tool.store, file, "--entity", "Book").output.contains("3 unchanged"))
    }

    @Test func valuesOfAnotherStorageClassAreBadRows() throws {
        let file = try database(
            "classes.sqlite",
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB, x TEXT, n INTEGER, any);
            INSERT INTO t VALUES (1, x'00', 'a', 1, x'01'), (2, 'abcd', 'a', 1, x'01'), (3, x'00', x'ff', 1, x'01'),
                (4, x'00', 'a', '', x'01'), (5, x'00', 'a', 1, 'text'), (6, NULL, NULL, NULL, NULL);
            CREATE TABLE k (k PRIMARY KEY); INSERT INTO k VALUES (1), ('1'), (1.5), (x'31');
            CREATE TABLE g (id INTEGER PRIMARY KEY, n INT, v INT AS (n * 2), s INT AS (n * 3) STORED);
            INSERT INTO g (id, n) VALUES (1, 5);
            """)
        let result = try tool.run(
            "import", tool.store, file, "--table", "t", "--entity", "T", "--skip-bad-rows", "--output", "json")
        #expect(
            result["inserted"] as? Int == 2 && result["badRowCount"] as? Int == 4, "\(result.output) \(result.error)")
        #expect(
            (result["badRows"] as? [String])?[0].hasSuffix(
                "line 2, column 2 (b): it has a text, unlike the column's type or its other values") == true)
        let keys = try tool.run(
            "import", tool.store, file, "--table", "k", "--entity", "K", "--skip-bad-rows", "--output", "json")
        #expect(keys["badRowCount"] as? Int ?? 0 >= 2, "\(keys.output) \(keys.error)")
        #expect(try tool.run("import", tool.store, file, "--table", "g", "--entity", "G").status == 0)
        #expect(try tool.run("fetch", tool.store, "--entity", "G", "--output", "csv").output == "id,n,v,s\n1,5,10,15\n")
    }

    @Test(.timeLimit(.minutes(1))) func aPipeIsNoDatabase() throws {
        let pipe = tool.folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        for path in [pipe, "-", tool.folder.path] {
            let result = try tool.run("import", tool.store, path, "--table", "t", "--entity", "T")
            #expect(result.status == 1 && result.error.contains("it is not a file"), "\(path): \(result.error)")
        }
    }

    @Test func aTableIsNamedIfTheDatabaseHasSeveral() throws {
        let file = try database(
            "shop.db",
            books
                + "CREATE TABLE \"odd \"\" name\" (a INT); CREATE VIEW dear AS SELECT isbn, price FROM books WHERE price > 0;"
        )
        let several = try tool.run("import", tool.store, file, "--entity", "E")
        #expect(several.status == 1 && several.error.contains("has the tables books, dear, odd"), "\(several.error)")
        let view = try tool.run("import", tool.store, file, "--table", "dear", "--entity", "Dear", "--key", "isbn")
        #expect(view.output.contains("1 inserted"), "\(view.error)")
        #expect(try tool.run("import", tool.store, file, "--table", "odd \" name", "--entity", "Odd").status == 0)
        let unknown = try tool.run("import", tool.store, file, "--table", "bucks", "--entity", "E")
        #expect(unknown.status == 1 && unknown.error.contains("has no table \"bucks\""), "\(unknown.error)")
    }

    @Test func aValueThatDoesNotFitItsTypeIsABadRow() throws {
        let file = try database(
            "flexible.sqlite",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO t VALUES (1, 5), (2, 'many'), (3, 6);")
        let stopped = try tool.run("import", tool.store, file, "--entity", "E")
        #expect(stopped.status == 1 && stopped.error.contains("line 2, column 2 (n): \"many\""), "\(stopped.error)")
        let skipped = try tool.run("import", tool.store, file, "--entity", "E", "--skip-bad-rows")
        #expect(skipped.status == 0 && skipped.output.contains("1 bad row was skipped"), "\(skipped.error)")
        for (name, bytes) in [("text.sqlite", "no database at all"), ("empty.sqlite", "")] {
            let result = try tool.run("import", tool.store, try tool.file(name, bytes), "--entity", "X")
            #expect(result.status == 1 && result.error.contains(name), "\(result.error)")
        }
        let missing = try tool.run("import", tool.store, tool.folder.path + "/none.sqlite", "--entity", "X")
        #expect(missing.status == 1 && missing.error.contains("cannot be opened"), "\(missing.error)")
    }

    #if os(Linux)
        @Test func aLibraryThatCannotBeLoadedIsAnError() throws {
            let file = try database("books.sqlite", books)
            _ = try tool.file("libsqlite3.so.0", "no library")
            let result = try tool.run(
                ["import", tool.store, file, "--entity", "E"], environment: ["LD_LIBRARY_PATH": tool.folder.path])
            #expect(result.status == 1 && result.error.contains("cannot be loaded"), "\(result.error)")
        }
    #endif

    @Test func replaceMatchesRowsByTheTablesPrimaryKey() throws {
        func replace(_ sql: String) throws -> Tool.Result {
            let path = tool.folder.path + "/replaced.sqlite"
            try? FileManager.default.removeItem(atPath: path)
            return try tool.run("import", tool.store, database("replaced.sqlite", sql), "--entity", "E", "--replace")
        }
        #expect(
            try replace("CREATE TABLE t (k TEXT PRIMARY KEY, v INT); INSERT INTO t VALUES ('a', 1), ('b', 2)").status
                == 0)
        let result = try replace("CREATE TABLE t (k TEXT PRIMARY KEY, v INT); INSERT INTO t VALUES ('b', 3)")
        #expect(result.status == 0, "\(result.error)")
        #expect(try tool.run("fetch", tool.store, "--output", "csv").output == "k,v\nb,3\n")
        let refused = try replace("CREATE TABLE t (k TEXT, v INT); INSERT INTO t VALUES ('b', 3)")
        #expect(refused.status != 0 && refused.error.contains("no primary key of one column"), "\(refused.error)")
        // A refused import makes no store.
        let file = try database("keyless.sqlite", "CREATE TABLE t (k TEXT, v INT); INSERT INTO t VALUES ('b', 3)")
        let store = tool.folder.path + "/none"
        #expect(try tool.run("import", store, file, "--entity", "E", "--replace").status != 0)
        #expect(!FileManager.default.fileExists(atPath: store))
        // The stored attribute isn't unique.
        let rows = try tool.file("rows.csv", "k,v\na,1\n")
        #expect(try tool.run("import", store, rows, "--entity", "E").status == 0)
        let keyed = tool.folder.path + "/replaced.sqlite"
        _ = try replace("CREATE TABLE t (k TEXT PRIMARY KEY, v INT); INSERT INTO t VALUES ('b', 3)")
        let other = try tool.run("import", store, keyed, "--entity", "E", "--replace")
        #expect(other.status != 0 && other.error.contains("E.k is not unique"), "\(other.error)")
    }
}
