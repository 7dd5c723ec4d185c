import FetchIndexRecords
import Foundation
import FetchIndexTestSupport
import Testing

import FetchIndex

/// An import of an exported file gives the same values.
@Suite struct ExportTests {
    static let types =
        "id:integer,text:string,whole:integer,number:double,exact:decimal,truth:boolean,moment:date,bytes:data,uuid:uuid,"
        + "link:url"

    let tool: Tool

    init() throws { tool = try Tool() }

    /// Makes a store with values of all types, through the library.
    private func fill(_ rows: Int, seed: UInt64, isPlain: Bool) throws {
        var generator = SeededGenerator(seed: seed)
        let attributes = Self.types.split(separator: ",").map { part in
            let parts = part.split(separator: ":").map(String.init)
            return AttributeDescription(
                parts[0], ValueType(name: parts[1]) ?? .string, isOptional: parts[0] != "id", isUnique: parts[0] == "id"
            )
        }
        let container = try PersistentContainer(
            path: tool.store, model: Model(entities: [Entity("Row", attributes)]))
        let writer = try container.store.beginWrite()
        for id in 0..<rows {
            var values: [Value] = [.integer(Int64(id))]
            for attribute in attributes.dropFirst() {
                let isNull = Int.random(in: 0..<8, using: &generator) == 0
                values.append(isNull ? .null : Self.value(attribute.type, isPlain, using: &generator))
            }
            let record = try writer.model.entities[0].record(values)
            try writer.insert(0, record.span.bytes)
        }
        try writer.commit()
    }

    private static func value(_ type: ValueType, _ isPlain: Bool, using generator: inout SeededGenerator) -> Value {
        switch type {
        case .boolean: return .boolean(.random(using: &generator))
        case .integer:
            return .integer([0, -1, .min, .max, .random(in: .min ... .max, using: &generator)].random(&generator))
        case .double:
            let bits = Double(bitPattern: generator.next())
            return .double(
                [0, -0.0, 1, 0.1, 1e300, Double.leastNonzeroMagnitude, .infinity, -.infinity, bits.isNaN ? .nan : bits]
                    .random(&generator))
        case .decimal:
            let digits = [
                "0", "-1.5", "100.0000000000000000000000001", "12345678901234567890123456789012345678", "1e-60",
            ]
            return .decimal(Decimal(string: digits.random(&generator)) ?? 0)
        case .date:
            let seconds: [Double] = [
                0, -0.0, 0.5, -0.25, 785_427_200.6789801, -1e-20, 1e12, .infinity,
                .random(in: -6e10...2e11, using: &generator),
                .random(in: -1...1, using: &generator), .random(in: 7e8...8e8, using: &generator).rounded(),
            ]
            return .date(Date(timeIntervalSinceReferenceDate: seconds.random(&generator)))
        case .string:
            let pieces =
                ["影", "a", " ", "é", "'", ";", "🐈", "\u{FEFF}"]
                + (isPlain ? [] : ["\"", ",", "\n", "\r", "\t", "\0", "\u{1B}", "\\"])
            let length = Int.random(in: isPlain ? 1...6 : 0...6, using: &generator)
            return .string((0..<length).map { _ in pieces.random(&generator) }.joined())
        case .data:
            let length = Int.random(in: isPlain ? 1...4 : 0...4, using: &generator)
            return .data(Data((0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }))
        case .uuid:
            return Value(UUID().uuidString, as: .uuid) ?? .null
        case .url: return Value("https://example.com/\(generator.next())?q=a%2Cb&c=\"", as: .url) ?? .null
        }
    }

    /// The values of all rows by id and attribute.
    private func contents(_ path: String) throws -> [Int64: [String: Value]] {
        let container = try PersistentContainer(path: path)
        let snapshot = try container.store.snapshot()
        let entity = snapshot.model.entities[0]
        var rows: [Int64: [String: Value]] = [:]
        try snapshot.scan(0) { _, record in
            let values = Dictionary(
                uniqueKeysWithValues: zip(entity.attributes.map(\.name), try entity.values(of: record)))
            guard case .integer(let id) = values["id"] else { return false }
            rows[id] = values
            return true
        }
        return rows
    }

    @Test(arguments: ["jsonl", "csv", "tsv"]) func valuesOfAllTypesAreImportedAsTheyWereExported(format: String) throws
    {
        try fill(400, seed: 11, isPlain: format == "tsv")
        let file = tool.folder.path + "/rows." + format, copy = tool.folder.path + "/copy"
        let export = try tool.run("export", tool.store, file, "--entity", "Row")
        #expect(export.status == 0, "\(export.error)")
        #expect(export.output.isEmpty, "\(export.error)")
        #expect(export.error.isEmpty, "\(export.error)")
        #expect(try tool.run("export", tool.store, "--entity", "Row", "--print-types").output == Self.types + "\n")
        let imported = try tool.run("import", copy, file, "--entity", "Row", "--key", "id", "--types", Self.types)
        #expect(imported.status == 0, "\(imported.error)")
        let before = try contents(tool.store), after = try contents(copy)
        #expect(before.count == 400)
        #expect(after.count == 400)
        for (id, row) in before where after[id] != row {
            for (name, value) in row where after[id]?[name] != value {
                Issue.record("row \(id), \(name): \(value) became \(String(describing: after[id]?[name])), seed 11")
            }
        }
        #expect(try tool.run("export", copy, "--entity", "Row", "--format", format).status == 0)
    }

    /// SIGINT, SIGTERM and SIGHUP end an export and remove its unfinished file. SIGKILL would leave the file.
    @Test func aSignalRemovesTheUnfinishedFile() throws {
        let rows = try tool.file("rows.csv", "id,note\n" + (0..<60_000).map { "\($0),note \($0)\n" }.joined())
        _ = try tool.run("import", tool.store, rows, "--entity", "Row", "--key", "id")
        let file = tool.folder.path + "/out.csv"
        var unfinished = 0
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let export = try Child(
                Tool.executable.path, ["export", tool.store, file, "--entity", "Row", "--sort", "note"])
            while export.isRunning, access(file + ".partial", F_OK) != 0 { usleep(200) }
            if export.isRunning { unfinished += 1 }
            export.send(signal)
            #expect(
                export.wait(seconds: 20) == nil || access(file, F_OK) == 0,
                "after signal \(signal), the export exited without a file")
            #expect(access(file + ".partial", F_OK) != 0, "\(signal)")
            unlink(file)
        }
        #expect(unfinished > 0)
    }

    @Test func anExportToStandardOutputIsFilteredAndSorted() throws {
        let file = try tool.file("b.csv", "id,title\n1,c\n2,\n3,\"\"\n4,a\n5,\"x, \"\"y\"\"\"\n")
        _ = try tool.run("import", tool.store, file, "--entity", "Book", "--key", "id")
        let csv = try tool.run("export", tool.store, "--entity", "Book", "--format", "csv")
        #expect(csv.output == "id,title\n1,c\n2,\n3,\"\"\n4,a\n5,\"x, \"\"y\"\"\"\n")
        let sorted = try tool.run(
            "export", tool.store, "--entity", "Book", "--where", "title < 'd'", "--sort", "title:desc")
        #expect(
            sorted.output
                == "{\"id\":1,\"title\":\"c\"}\n{\"id\":4,\"title\":\"a\"}\n{\"id\":3,\"title\":\"\"}\n",
            "\(sorted.output)")
        let tsv = try tool.run("export", tool.store, "--entity", "Book", "--format", "tsv")
        #expect(tsv.error.contains("TSV cannot distinguish 1 empty text from null"))
    }

    @Test func aFailedExportKeepsTheOldFile() throws {
        let file = try tool.file("b.jsonl", "{\"id\":1,\"title\":\"tab\\there\"}\n")
        _ = try tool.run("import", tool.store, file, "--entity", "Book", "--key", "id")
        let target = try tool.file("out.tsv", "old")
        let failed = try tool.run("export", tool.store, target, "--entity", "Book")
        #expect(failed.status == 1)
        #expect(failed.error.contains("object 1, title: TSV cannot contain tabs or line ends"))
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "old")
        #expect(access(target + ".partial", F_OK) != 0)
        let one = try tool.file("one.jsonl", "{\"a\":1}\n{\"a\":null}\n")
        _ = try tool.run("import", tool.store, one, "--entity", "One")
        #expect(try tool.run("export", tool.store, "--entity", "One", "--format", "csv").status == 1)
        let jsonl = try tool.run("export", tool.store, "--entity", "One")
        #expect(jsonl.output == "{\"a\":1}\n{\"a\":null}\n")
        #expect(try tool.run("export", tool.store, "--entity", "Nothing").status == 2)
        let nameless = try tool.run("export", tool.store, tool.folder.path + "/out.foo", "--entity", "One")
        #expect(nameless.status == 2, "\(nameless.error)")
        #expect(nameless.error.contains("does not show the file's format"), "\(nameless.error)")
        let full = tool.process(["export", tool.store, "--entity", "One"])
        full.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
        full.standardError = FileHandle.nullDevice
        try full.run()
        full.waitUntilExit()
        #expect(full.terminationStatus == 1)
    }

    @Test func onlyRegularFilesOutsideStoresAreReplaced() throws {
        let file = try tool.file("b.csv", "id\n1\n")
        _ = try tool.run("import", tool.store, file, "--entity", "Book", "--key", "id")
        let pipe = tool.folder.path + "/pipe.csv", link = tool.folder.path + "/link.csv"
        try #require(mkfifo(pipe, 0o600) == 0 && symlink(file, link) == 0)
        for (target, reason) in [
            (pipe, "it is not a regular file"), (link, "it is not a regular file"),
            (tool.folder.path, "it is not a regular file"),
            (tool.store + "/out.csv", "store"), (tool.folder.path + "/missing/out.csv", "No such file or directory"),
        ] {
            let failed = try tool.run("export", tool.store, target, "--entity", "Book", "--format", "csv")
            #expect(failed.status == 1, "\(target): \(failed.error)")
            #expect(failed.error.contains(reason), "\(target): \(failed.error)")
            #expect(failed.error.split(separator: "\n").count == 1)
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "id\n1\n")
        #expect(try FileManager.default.attributesOfItem(atPath: pipe)[.type] as? FileAttributeType != .typeRegular)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == file)
        #expect(try tool.run("check", tool.store).status == 0)
    }
}

extension Array {
    fileprivate func random(_ generator: inout SeededGenerator) -> Element {
        self[Int.random(in: indices, using: &generator)]
    }
}
