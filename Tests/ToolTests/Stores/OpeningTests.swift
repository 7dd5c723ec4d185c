@testable import FetchIndexLMDB
import Foundation
import FetchIndexTestSupport
import Testing

/// If a store cannot be opened, the error is one sentence. Paths may have unusual characters.
@Suite struct OpeningTests {
    let tool: Tool
    let catalogue: String

    init() throws {
        tool = try Tool()
        catalogue = try tool.file("a.csv", "k,n\na,1\nb,2\n")
    }

    private func folder(_ name: String) throws -> String {
        let path = tool.folder.path + "/" + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    private func expect(_ error: String, _ arguments: String...) throws {
        let result = try tool.run(arguments)
        #expect(result.status == 1, "\(arguments): \(result.error)")
        #expect(result.error == "fetchindex: \(error)\n", "\(arguments): \(result.error)")
    }

    @Test func pathsWithoutAStoreAreReportedInOneSentence() throws {
        let empty = try folder("empty")
        let foreign = try folder("foreign")
        try Data(repeating: 66, count: 9000).write(to: URL(fileURLWithPath: foreign + "/data.mdb"))
        let nowhere = tool.folder.path + "/no/where"
        for command in ["fetch", "info", "check"] {
            let entity = command == "fetch" ? ["--entity", "E"] : []
            for (path, error) in [
                (empty, "\(empty) is not a FetchIndex store: it has no data.mdb"),
                (catalogue, "\(catalogue) is not a FetchIndex store: it has no data.mdb"),
                (nowhere, "there is no store at \(nowhere)"),
            ] {
                let result = try tool.run([command, path] + entity)
                #expect(result.status == 1, "\(command): \(result.error)")
                #expect(result.error == "fetchindex: \(error)\n", "\(command): \(result.error)")
            }
            let result = try tool.run([command, foreign] + entity)
            #expect(result.status == 1)
            #expect(result.error.hasPrefix("fetchindex: \(foreign) is not a FetchIndex store: "))
        }
        try expect(
            "the store \(catalogue) cannot be opened: Not a directory", "import", catalogue, catalogue, "--entity", "E")
        try expect(
            "the store \(nowhere) cannot be opened: No such file or directory", "import", nowhere, catalogue,
            "--entity", "E")
        let long = tool.folder.path + "/" + String(repeating: "x", count: 300)
        try expect("the store \(long) cannot be opened: File name too long", "import", long, catalogue, "--entity", "E")
        try expect("the store \(long) cannot be opened: File name too long", "fetch", long, "--entity", "E")
    }

    /// None of these commands writes to an LMDB environment of another program, with or without tables.
    @Test func theEnvironmentOfAnotherProgramIsNotChanged() throws {
        for (name, table) in [("tables", "theirs"), ("plain", nil), ("same-name", "meta")] {
            let path = try folder("theirs-\(name)")
            do {
                let environment = try Environment.open(at: path)
                // 1 is LMDB's handle of the main tree, which has the entries of a program without tables.
                let tables = try table.map { try environment.tables([TableDescription($0)], creating: true) }
                let transaction = try environment.beginWrite()
                try transaction.view.put(
                    Array("value".utf8), for: Array("key".utf8), in: tables?[0] ?? Table(handle: 1, keys: .bytes))
                try transaction.commit()
            }
            let file = URL(fileURLWithPath: path + "/data.mdb")
            let before = try Data(contentsOf: file)
            for arguments in [
                ["import", path, catalogue, "--entity", "E", "--key", "k"], ["fetch", path, "--entity", "E"],
                ["apply", path, try tool.file("c.jsonl", ""), "--entity", "E"], ["check", path, "--repair"],
                ["compact", path], ["cache", "rebuild", path], ["cache", "delete", path, "--all"],
            ] {
                let result = try tool.run(arguments)
                #expect(result.status == 1, "\(name), \(arguments): \(result.output)")
                // `check` lists the missing parts as defects instead.
                if arguments[0] != "check" {
                    #expect(result.error.contains("\(path) is not a FetchIndex store: "), "\(arguments)")
                }
                #expect(try Data(contentsOf: file) == before, "\(name), \(arguments)")
            }
        }
    }

    /// A new store isn't created in a folder that contains another store. If the inner store is named like a store's
    /// file, the new store is created, and the inner store stays as it is.
    @Test func creatingAStoreKeepsAStoreInsideItsFolder() throws {
        for (name, isRefused) in [("new", true), ("data.mdb.partial", false)] {
            let inner = try folder("stores-\(name)") + "/" + name
            #expect(try tool.run("import", inner, catalogue, "--entity", "E", "--key", "k").status == 0)
            let outer = tool.folder.path + "/stores-\(name)"
            let result = try tool.run("import", outer, catalogue, "--entity", "E", "--key", "k")
            #expect(result.status == (isRefused ? 1 : 0))
            #expect(result.error.contains("a store needs a folder of its own") == isRefused)
            for store in isRefused ? [inner] : [inner, outer] {
                #expect(try tool.run("check", store).output == "the store is whole\n", "\(store)")
                let entities = try tool.run("info", store, "--output", "json")["entities"] as? [[String: Any]]
                #expect(entities?.first?["count"] as? Int == 2, "\(store)")
            }
        }
    }

    /// A process that is killed before it has written the newest transaction's number into a new lock file leaves 0 in
    /// it. If waiting processes relied on the 0, they would overwrite the newest commits.
    @Test func aLockFileWithAWrongTransactionIsRefused() throws {
        let request = ["--entity", "E", "--sort", "n", "--cache", "c"]
        for number in 0..<4 {
            let file = try tool.file("\(number).csv", "k,n\n\(number),1\n")
            #expect(try tool.run("import", tool.store, file, "--entity", "E", "--key", "k").status == 0)
        }
        _ = try tool.run(["fetch", tool.store, "--sections-only"] + request)
        let commit = try #require(try tool.run("info", tool.store, "--output", "json")["commit"] as? Int)
        let holder = tool.process(["watch", tool.store, "--cache", "c", "--output", "json"])
        holder.standardOutput = FileHandle.nullDevice
        try holder.run()
        // Once the watcher is listed as a reader, no other process has the lock alone.
        var readers = 0
        while readers == 0, holder.isRunning {
            readers = (try tool.run("info", tool.store, "--output", "json")["readers"] as? [Any])?.count ?? 0
        }
        let lock = try #require(FileHandle(forWritingAtPath: tool.store + "/lock.mdb"))
        // The transaction is after magic and format, in LMDB 0.9 also after a mutex.
        try lock.seek(toOffset: PageLayout.linked == .version1 ? 48 : 8)
        try lock.write(contentsOf: Data(repeating: 0, count: 8))
        try lock.close()
        let file = try tool.file("late.csv", "k,n\nlate,1\n")
        for arguments in [["info", tool.store], ["import", tool.store, file, "--entity", "E", "--key", "k"]] {
            let refused = try tool.run(arguments)
            #expect(refused.status == 1, "\(refused.output) \(refused.error)")
            #expect(refused.error.contains("lock.mdb"), "\(refused.output) \(refused.error)")
        }
        // Each of these processes needs the lock alone for a moment, and they must not block each other.
        let many = try (0..<8).map { _ in
            let process = tool.process(["info", tool.store])
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            return process
        }
        usleep(300_000)
        let areWaiting = many.allSatisfy { $0.isRunning }
        #expect(areWaiting)
        holder.terminate()
        holder.waitUntilExit()
        for process in many { process.waitUntilExit() }
        #expect(many.map(\.terminationStatus) == [Int32](repeating: 0, count: many.count))
        #expect(try tool.run("info", tool.store, "--output", "json")["commit"] as? Int == commit)
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func pathsMayHaveUnusualCharacters() throws {
        for name in [
            "a b", "蔵書", "it's \"q\"", "new\nline", "%@ %n %s", "é\u{301}", "\u{1B}[31m", "$HOME;`ls`", "*?",
        ] {
            let path = tool.folder.path + "/" + name
            #expect(try tool.run("import", path, catalogue, "--entity", "E", "--key", "k").status == 0, "\(name)")
            let rows = try tool.run("fetch", path, "--entity", "E", "--cache", name, "--output", "json")
            #expect(rows.status == 0 && rows["count"] as? Int == 2, "\(name)")
            #expect(try tool.run("check", path).status == 0)
            #expect(try tool.run("cache", "verify", path, "--", name).status == 0, "\(name)")
            let error = try tool.run("fetch", path + "/none", "--entity", "E").error
            let plain = name.replacingOccurrences(of: "\n", with: " ").replacingOccurrences(of: "\u{1B}", with: " ")
            #expect(error.hasPrefix("fetchindex: "), "\(error)")
            #expect(error.hasSuffix("\(plain)/none\n"), "\(error)")
        }
    }

    @Test func argumentsThatAreNotUTF8AreRefused() throws {
        let rows = try tool.file("rows.csv", "id\n1\n")
        let process = tool.process([])
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c", "exec \"$0\" import \"$1/$(printf 'caf\\351')\" \"$2\" --entity Row 2>&1", Tool.executable.path,
            tool.folder.path, rows,
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 2)
        #expect(text.contains("is not UTF-8"), "\(text)")
    }

    /// Runs the tool as the user nobody if the tests run as root, for whom permissions do not count. Returns nil if
    /// setpriv is missing.
    private func runAsOther(_ arguments: String...) throws -> Tool.Result? { try runAsOther(arguments) }

    private func runAsOther(_ arguments: [String]) throws -> Tool.Result? {
        if geteuid() != 0 { return try tool.run(arguments) }
        let setpriv = "/usr/bin/setpriv"
        guard FileManager.default.isExecutableFile(atPath: setpriv) else {
            print("there is no setpriv: what other users may do with a store is not tested")
            return nil
        }
        let process = tool.process([])
        process.executableURL = URL(fileURLWithPath: setpriv)
        process.arguments = ["--reuid=65534", "--regid=65534", "--clear-groups", Tool.executable.path] + arguments
        let (output, error) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError) = (output, error)
        try process.run()
        let texts = [output, error].map {
            String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }
        process.waitUntilExit()
        return Tool.Result(status: process.terminationStatus, output: texts[0], error: texts[1])
    }

    @Test func missingPermissionsAreErrorsAndReadOnlyFilesAreRead() throws {
        let store = tool.folder.path + "/store"
        #expect(try tool.run("import", store, catalogue, "--entity", "E").status == 0)
        func setPermissions(_ folder: Int, _ files: Int) throws {
            for name in try FileManager.default.contentsOfDirectory(atPath: store) {
                try FileManager.default.setAttributes([.posixPermissions: files], ofItemAtPath: store + "/" + name)
            }
            try FileManager.default.setAttributes([.posixPermissions: folder], ofItemAtPath: store)
        }
        defer { try? setPermissions(0o700, 0o600) }
        let refused = "fetchindex: the store \(store) cannot be opened: Permission denied\n"
        try setPermissions(0, 0)
        if let closed = try runAsOther("fetch", store, "--entity", "E") {
            #expect(closed.status == 1, "\(closed)")
            #expect(closed.error == refused, "\(closed)")
        }
        try setPermissions(0o755, 0o444)
        if let read = try runAsOther("fetch", store, "--entity", "E", "--cache", "c", "--output", "json") {
            #expect(read.status == 0 && read["count"] as? Int == 2, "\(read)")
        }
        // The user nobody may write to this folder.
        let target = try folder("others")
        chmod(target, 0o777)
        for arguments in [["backup", store, target + "/copy"], ["check", store], ["info", store]] {
            if let read = try runAsOther(arguments) { #expect(read.status == 0, "\(arguments[0]): \(read)") }
        }
        if let written = try runAsOther("import", store, catalogue, "--entity", "E") {
            #expect(written.status == 1, "\(written)")
            #expect(written.error == refused, "\(written)")
        }
    }

    @Test func aStoreOnAReadOnlyFileSystemIsRead() throws {
        let store = tool.folder.path + "/store"
        #expect(try tool.run("import", store, catalogue, "--entity", "E").status == 0)
        let mounted = try folder("mounted")
        let mount = "/usr/bin/mount"
        guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: mount),
            try HostileInputTests.run(mount, ["--bind", store, mounted]) == 0
        else {
            print("no file system can be mounted here: a read-only one is not tested")
            return
        }
        defer { _ = try? HostileInputTests.run("/usr/bin/umount", [mounted]) }
        guard try HostileInputTests.run(mount, ["-o", "remount,ro,bind", mounted]) == 0 else { return }
        let read = try tool.run("fetch", mounted, "--entity", "E", "--cache", "c", "--output", "json")
        #expect(read.status == 0 && read["count"] as? Int == 2)
        for arguments in [["check", mounted], ["backup", mounted, tool.folder.path + "/copy"]] {
            let read = try tool.run(arguments)
            #expect(read.status == 0, "\(read.error)")
        }
        try expect(
            "the store \(mounted) cannot be opened: Read-only file system", "import", mounted, catalogue, "--entity",
            "E")
    }
}
