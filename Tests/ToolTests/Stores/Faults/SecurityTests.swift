import Foundation
import FetchIndexTestSupport
import Testing

/// Files in a store's folder are for their owner alone. Tables, JSON and errors have neither control characters nor
/// hidden ones.
@Suite struct SecurityTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    /// Runs a command with the umask 0, from a folder in which no files can be created, and without a temporary folder.
    private func runConfined(_ arguments: [String]) throws -> (status: Int32, text: String) {
        let process = tool.process([])
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", "umask 0; exec \"$0\" \"$@\"", Tool.executable.path] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: "/proc/self")
        process.environment = libraryEnvironment.merging(
            ["TMPDIR": "/nonexistent", "PATH": "/nonexistent", "HOME": "/nonexistent"]) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let text = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }

    /// Reports, exports and backups follow the umask, which allows all users here.
    @Test func filesOfAStoreAreForTheirOwnerAlone() throws {
        var text = "id,section,note\n"
        for number in 0..<12_000 {
            text += "\(number),s\(number % 9),\(String(repeating: "n", count: 120))\(number * 7919 % 12_000)\n"
        }
        let file = try tool.file("rows.csv", text)
        let changes = try tool.file("changes.jsonl", "{\"op\":\"delete\",\"key\":7}\n")
        let backup = tool.folder.path + "/backup", export = tool.folder.path + "/export.csv"
        let report = tool.folder.path + "/report.html"
        // A killed export would leave such a partial file. The permissions of that file don't matter.
        try Data("x".utf8).write(to: URL(fileURLWithPath: export + ".partial"))
        chmod(export + ".partial", 0o640)
        let request = ["--entity", "Row", "--section", "section", "--sort", "note", "--cache", "c", "--memory", "1"]
        for arguments in [
            ["import", tool.store, file, "--entity", "Row", "--key", "id"],
            ["fetch", tool.store, "--sections-only"] + request, ["fetch", tool.store, "--sections-only"] + request,
            ["apply", tool.store, changes, "--entity", "Row"], ["changes", tool.store, "--cache", "c"],
            ["cache", "verify", tool.store], ["cache", "rebuild", tool.store], ["info", tool.store],
            ["backup", tool.store, backup], ["export", tool.store, export, "--entity", "Row", "--sort", "note"],
            ["compact", tool.store], ["check", tool.store, "--repair"], ["report", tool.store, "--out", report],
        ] {
            let result = try runConfined(arguments)
            #expect(result.status == 0, "\(arguments[0]): \(result.text)")
        }
        let files = FileManager.default
        #expect(
            try Set(files.contentsOfDirectory(atPath: tool.store)) == [
                "data.mdb", "lock.mdb", "writer.lock", "build.lock", "statistics",
            ])
        #expect(try mode(tool.store) == 0o700)
        for name in try files.contentsOfDirectory(atPath: tool.store) {
            #expect(try mode(tool.store + "/" + name) == 0o600, "\(name)")
        }
        #expect(try mode(backup) == 0o777 && mode(backup + "/data.mdb") == 0o666)
        #expect(try mode(export) == 0o666 && mode(report) == 0o666)
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    /// Values, names and arguments have escapes, carriage returns and 8-bit controls.
    @Test func tablesJSONAndErrorsHaveNoControlCharacters() throws {
        let evil = "\u{1B}[31m\u{9B}2J\u{7F}\r\u{8}%@%n%s\u{2028}"
        let json = try #require(
            String(data: JSONEncoder().encode(["id": "1", "title": evil]), encoding: .utf8))
        let file = try tool.file("e.jsonl", json + "\n")
        let named = try tool.file("n.jsonl", json.replacingOccurrences(of: "\"title\"", with: "\"t\\u001b\"") + "\n")
        #expect(try tool.run("import", tool.store, file, "--entity", evil, "--key", "id").status == 0)
        let request = ["--entity", evil, "--section", "title", "--cache", evil]
        let update = try tool.file("u.jsonl", "{\"op\":\"insert\",\"key\":\"1\"}")
        let more = try tool.file(
            "m.jsonl", json.replacingOccurrences(of: "\"1\"", with: "\"2\"").replacingOccurrences(of: "%@", with: "%d"))
        var printed = 0
        for output in ["table", "json"] {
            for arguments in [
                ["fetch", tool.store] + request, ["info", tool.store], ["check", tool.store],
                ["cache", "list", tool.store], ["cache", "show", tool.store, evil], ["cache", "verify", tool.store],
                ["cache", "rebuild", tool.store], ["apply", tool.store, update, "--entity", evil],
                ["cache", "show", tool.store, evil + "x"], ["fetch", tool.store, "--entity", evil + "x"],
                ["fetch", tool.store, "--entity", evil, "--where", "'\(evil)' < >"],
                ["fetch", tool.store, "--entity", evil, "--explain", "--cache", evil], [evil],
                ["import", tool.store, more, "--entity", evil, "--key", "id"],
                ["import", tool.store, named, "--entity", evil, "--key", "id"],
                ["changes", tool.store, "--cache", evil], ["fetch", evil, "--entity", "x"],
                ["import", tool.store, evil, "--entity", "x", "--format", "csv"],
            ] {
                let result = try tool.run(arguments + (arguments == [evil] ? [] : ["--output", output]))
                for text in [result.output, result.error] {
                    let controls = text.unicodeScalars.filter {
                        $0.properties.generalCategory == .control && $0 != "\n"
                    }
                    #expect(controls.isEmpty, "\(arguments[0]) \(output): \(text)")
                    printed += text.contains("%n%s") ? 1 : 0
                }
            }
        }
        #expect(printed > 20, "texts are not taken for formats: \(printed)")
        let rows = try tool.run("fetch", tool.store, "--entity", evil, "--output", "json")["rows"] as? [[String: Any]]
        #expect((rows?.first?["values"] as? [String: Any])?["title"] as? String == evil, "JSON loses nothing")
    }

    /// Values and names have direction controls, zero-width spaces and other invisible characters.
    @Test func tablesJSONAndErrorsHaveNoHiddenCharacters() throws {
        let evil = "a\u{202E}b\u{2066}c\u{61C}d\u{200B}e\u{FEFF}f\u{AD}g\u{E0001}h\u{200D}i\u{3164}"
        let file = try tool.file("e.csv", "id,title\n1,\(evil)\n2,می\u{200C}خواهم\n3,👩\u{200D}🚀\n")
        #expect(try tool.run("import", tool.store, file, "--entity", evil, "--key", "id").status == 0)
        let request = ["--entity", evil, "--section", "title", "--cache", evil]
        let report = tool.folder.path + "/report.html"
        for arguments in [
            ["fetch", tool.store] + request, ["fetch", tool.store, "--output", "json"] + request, ["info", tool.store],
            ["info", tool.store, "--output", "json"], ["cache", "list", tool.store],
            ["cache", "show", tool.store, evil],
            ["fetch", tool.store, "--entity", evil + "x"], ["report", tool.store],
            ["report", tool.store, "--out", report],
        ] {
            let result = try tool.run(arguments)
            for scalar in evil.unicodeScalars where !scalar.isASCII && scalar != "\u{200D}" {
                for text in [result.output, result.error] {
                    #expect(!text.unicodeScalars.contains(scalar), "\(arguments[0]): \(scalar.escaped(asASCII: true))")
                }
            }
        }
        let table = try tool.run(["fetch", tool.store] + request).output
        #expect(table.contains("a\u{FFFD}b\u{FFFD}c\u{FFFD}d\u{FFFD}e\u{FFFD}f\u{FFFD}g\u{FFFD}h\u{FFFD}i\u{FFFD}"))
        #expect(table.contains("می\u{200C}خواهم") && table.contains("👩\u{200D}🚀"), "letters and emoji keep their shape")
        let rows = try tool.run("fetch", tool.store, "--entity", evil, "--output", "json")["rows"] as? [[String: Any]]
        #expect((rows?.first?["values"] as? [String: Any])?["title"] as? String == evil, "JSON loses nothing")
        #expect(try tool.run("export", tool.store, "--entity", evil, "--format", "csv").output.contains(evil))
    }

    @Test func symbolicLinksInTheStoresFolderAreNotFollowed() throws {
        let file = try tool.file("a.csv", "id\n1\n")
        _ = try tool.run("import", tool.store, file, "--entity", "Row", "--key", "id")
        let victim = try tool.file("victim", "precious")
        let fetch = ["fetch", tool.store, "--entity", "Row", "--cache", "c"]
        for (name, arguments, status) in [
            ("writer.lock", ["import", tool.store, file, "--entity", "Row", "--key", "id"], Int32(1)),
            ("statistics", fetch, 1), ("data.mdb.partial", ["compact", tool.store], 1),
        ] {
            _ = try tool.run(fetch)
            unlink(tool.store + "/" + name)
            symlink(victim, tool.store + "/" + name)
            let result = try tool.run(arguments)
            #expect(result.status == status, "\(name): \(result.error)")
            unlink(tool.store + "/" + name)
        }
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious")
        #expect(try tool.run("check", tool.store).status == 0)
    }
}
