import FetchIndex
import Foundation
import FetchIndexLMDB
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// One process watches an order while others write.
@Suite struct WatchTests {
    /// The number of seconds for which processes write: FETCHINDEX_TEST_SECONDS.
    static let seconds = TestSettings.seconds ?? 4

    let tool: Tool
    let request = ["--entity", "Row", "--section", "section", "--sort", "size", "--cache", "c"]

    init() throws { tool = try Tool() }

    private struct Batch: Decodable {
        struct Section: Decodable {
            let kind: String
            let from: Int?
            let to: Int?
        }

        struct Row: Decodable {
            let kind: String
            let id: Int
            let from: [Int]?
            let to: [Int]?
        }

        let sections: [Section]
        let rows: [Row]
    }

    private struct Listing: Decodable {
        struct Section: Decodable { let name: String }
        struct Row: Decodable {
            let id: Int
            let section: Int
        }

        let sections: [Section]
        let rows: [Row]

        var ids: [[Int]] {
            var ids = [[Int]](repeating: [], count: sections.count)
            for row in rows { ids[row.section].append(row.id) }
            return ids
        }
    }

    private func listing() throws -> [[Int]] {
        let result = try tool.run(["fetch", tool.store, "--output", "json", "--limit", "1000000"] + request)
        return try JSONDecoder().decode(Listing.self, from: Data(result.output.utf8)).ids
    }

    /// Applies a batch to the ids of all rows, by section, like a table view does.
    private func replay(_ batch: Batch, on old: [[Int]]) throws -> [[Int]] {
        var left: [[Int?]] = old
        for row in batch.rows where row.kind == "delete" || row.kind == "move" {
            let from = try #require(row.from)
            try #require(left[from[0]][from[1]] == row.id, "another row is at the old position of an event")
            left[from[0]][from[1]] = nil
        }
        var sections: [[Int]?] = left.map { $0.compactMap { $0 } }
        var arriving: [(Int, [Int])] = []
        for section in batch.sections {
            if let from = section.from {
                if let to = section.to { arriving.append((to, sections[from] ?? [])) }
                sections[from] = nil
            } else if let to = section.to {
                arriving.append((to, []))
            }
        }
        var new = sections.compactMap { $0 }
        for (to, rows) in arriving.sorted(by: { $0.0 < $1.0 }) { new.insert(rows, at: to) }
        for row in batch.rows.sorted(by: { ($0.to ?? []).lexicographicallyPrecedes($1.to ?? []) })
        where row.kind == "insert" || row.kind == "move" {
            let to = try #require(row.to)
            new[to[0]].insert(row.id, at: to[1])
        }
        return new
    }

    /// Change lines for one of two writers. The two change different rows.
    private func changes(_ writer: Int, _ round: Int, _ generator: inout SeededGenerator) -> String {
        var text = ""
        var keys: [String] = []
        for number in 0..<300 {
            for _ in 0...Int.random(in: 0...2, using: &generator) {
                let values =
                    #"{"section":"s\#(Int.random(in: 0..<9, using: &generator))","size":\#(Int.random(in: 0..<500, using: &generator))}"#
                switch Int.random(in: 0..<4, using: &generator) {
                case 0 where !keys.isEmpty:
                    let key = keys.remove(at: Int.random(in: 0..<keys.count, using: &generator))
                    text += #"{"op":"delete","key":"\#(key)"}"# + "\n"
                case 1...2 where !keys.isEmpty:
                    text +=
                        #"{"op":"update","key":"\#(keys.randomElement(using: &generator)!)","values":\#(values)}"#
                        + "\n"
                default:
                    let key =
                        "\(writer)-\(round)-\(number)-\(keys.count)-\(Int.random(in: 0..<1_000_000, using: &generator))"
                    keys.append(key)
                    text += #"{"op":"insert","key":"\#(key)","values":\#(values)}"# + "\n"
                }
            }
            text += "\n"
        }
        return text
    }

    @Test func aWatcherGetsEachChangeOnce() throws {
        let text = "id,section,size\n" + (0..<300).map { "r\($0),s\($0 % 7),\($0)\n" }.joined()
        _ = try tool.run("import", tool.store, try tool.file("rows.csv", text), "--entity", "Row", "--key", "id")
        var rows = try listing()

        let outputPath = try tool.file("watched", "")
        let watch = tool.process(["watch", tool.store, "--cache", "c", "--output", "json"])
        watch.standardOutput = FileHandle(forWritingAtPath: outputPath)
        try watch.run()
        defer { watch.terminate() }
        func lines() throws -> [Substring] {
            try String(contentsOfFile: outputPath, encoding: .utf8).split(separator: "\n")
        }
        // The first line says that the watcher has begun.
        let patience = Date().addingTimeInterval(20)
        while try lines().isEmpty, Date() < patience { usleep(10_000) }

        var generator = SeededGenerator(seed: 5)
        let end = Date().addingTimeInterval(Self.seconds)
        var round = 0
        repeat {
            let writers = try (1...2).map { writer in
                let file = try tool.file("changes-\(writer).jsonl", changes(writer, round, &generator))
                let process = tool.process(["apply", tool.store, file, "--entity", "Row", "--key", "id"])
                process.standardOutput = FileHandle.nullDevice
                try process.run()
                return process
            }
            for writer in writers {
                writer.waitUntilExit()
                #expect(writer.terminationStatus == 0)
            }
            round += 1
        } while Date() < end

        let expected = try listing()
        var batches = 0
        let deadline = Date().addingTimeInterval(20)
        while rows != expected && Date() < deadline {
            usleep(50_000)
            // The last line may be incomplete.
            for line in try lines().dropFirst(batches) {
                guard let batch = try? JSONDecoder().decode(Batch.self, from: Data(line.utf8)) else { break }
                rows = try replay(batch, on: rows)
                batches += 1
            }
        }
        #expect(rows == expected, "\(batches) batches in \(round) rounds")
        #expect(batches > round)
        #expect(try tool.run("check", tool.store).status == 0)
    }

    /// A nightly job may move a store away, to replace it by a new one.
    @Test func aWatcherOfAMovedStoreEndsWithAnError() throws {
        _ = try tool.run("import", tool.store, try tool.file("rows.csv", "id\na\n"), "--entity", "Row")
        _ = try tool.run("fetch", tool.store, "--entity", "Row", "--cache", "c")
        let watch = tool.process(["watch", tool.store, "--cache", "c"])
        let (output, error) = (Pipe(), Pipe())
        (watch.standardOutput, watch.standardError) = (output, error)
        try watch.run()
        #expect(!output.fileHandleForReading.availableData.isEmpty)
        // The watcher reports commits from before the move, and goes on after the store was missing for 0.2 s.
        _ = try tool.run("import", tool.store, try tool.file("more.csv", "id\nb\n"), "--entity", "Row")
        try FileManager.default.moveItem(atPath: tool.store, toPath: tool.store + "-away")
        usleep(200_000)
        try FileManager.default.moveItem(atPath: tool.store + "-away", toPath: tool.store)
        usleep(200_000)
        #expect(watch.isRunning)
        _ = try tool.run("import", tool.store, try tool.file("last.csv", "id\nc\n"), "--entity", "Row")
        try FileManager.default.moveItem(atPath: tool.store, toPath: tool.store + "-away")
        let batches = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(batches.components(separatedBy: "row insert").count == 3, "\(batches)")
        let text = String(decoding: error.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        watch.waitUntilExit()
        let sentence = "the files of the store \(tool.store) were moved or replaced while this process had them open"
        #expect(watch.terminationStatus == 1, "\(text)")
        #expect(text == "fetchindex: \(sentence)\n", "\(text)")
    }

    /// A program inherits the blocked signals of the thread that starts it. Dispatch's threads block nearly all
    /// signals.
    @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func aSignalEndsAWatcherEvenIfItsParentBlockedTheSignal(number: CInt)
        throws
    {
        _ = try tool.run("import", tool.store, try tool.file("rows.csv", "id\na\n"), "--entity", "Row")
        _ = try tool.run("fetch", tool.store, "--entity", "Row", "--cache", "c")
        let watch = tool.process(["watch", tool.store, "--cache", "c"])
        let output = Pipe()
        watch.standardOutput = output
        var blocked = sigset_t()
        var before = sigset_t()
        sigemptyset(&blocked)
        sigaddset(&blocked, number)
        pthread_sigmask(SIG_BLOCK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        // Under nohup, the watcher would inherit that SIGHUP is ignored.
        let inherited = signal(number, SIG_DFL)
        defer { _ = signal(number, inherited) }
        try watch.run()
        #expect(!output.fileHandleForReading.availableData.isEmpty)
        kill(watch.processIdentifier, number)
        let end = Date() + 20
        while watch.isRunning, Date() < end { usleep(2000) }
        #expect(!watch.isRunning)
        if watch.isRunning { kill(watch.processIdentifier, SIGKILL) }
    }

    @Test func watchingAnUnknownCacheIsAnError() throws {
        _ = try tool.run("import", tool.store, try tool.file("rows.csv", "id\na\n"), "--entity", "Row")
        let result = try tool.run("watch", tool.store, "--cache", "c")
        #expect(
            result.status == 2,
            "\(result.error)")
        #expect(
            result.error == "fetchindex: there is no cache \"c\" in the store\n",
            "\(result.error)")
    }

    /// If few files may be open, the watcher either watches, until a signal ends it, or ends at its start with an error
    /// of one line.
    @Test(.disabled(if: isUnderSanitizer)) func aWatcherWorksOrReportsItsFileLimitAtItsStart() throws {
        _ = try tool.run("import", tool.store, try tool.file("rows.csv", "id\na\n"), "--entity", "Row")
        _ = try tool.run("fetch", tool.store, "--entity", "Row", "--cache", "c")
        let output = tool.folder.path + "/watched", errors = tool.folder.path + "/errors"
        for limit in 3...20 {
            let watch = try Child(
                "/bin/bash",
                [
                    "-c", "ulimit -n \(limit); exec \"$0\" \"$@\"", Tool.executable.path, "watch", tool.store,
                    "--cache", "c",
                ],
                output: output, errors: errors)
            let end = Date() + 20
            while watch.isRunning, Date() < end, try String(contentsOfFile: output, encoding: .utf8).isEmpty {
                usleep(2000)
            }
            let isWatching = watch.isRunning
            watch.send(SIGTERM)
            let status = watch.wait(seconds: 10)
            let text = try String(contentsOfFile: errors, encoding: .utf8)
            if isWatching {
                // A program that a signal ended has no exit status.
                #expect(status == nil && text.isEmpty, "\(limit): \(text)")
            } else {
                #expect(limit < 20 && [1, 127].contains(status), "\(limit): \(text)")
                #expect(text.split(separator: "\n").count == 1, "\(limit): \(text)")
            }
        }
    }

    /// A process can't enlarge its map while it has a snapshot open. So if another process grows the file beyond the
    /// map, the open snapshot stays readable, and newer snapshots are refused until it is closed.
    @Test func aSnapshotStaysReadableWhileAnotherProcessGrowsTheFile() throws {
        let few = (0..<50).map { "r\($0),note \($0)\n" }.joined()
        _ = try tool.run(
            "import", tool.store, try tool.file("few.csv", "id,note\n" + few), "--entity", "Row", "--key", "id")
        var options = Store.Options()
        options.mapSize = 1 << 20
        let container = try PersistentContainer(path: tool.store, options: options)
        var request = FetchRequest<ManagedObject>(entityName: "Row")
        request.sortKeys = [SortKey("note")]
        func notes(_ context: ManagedObjectContext) throws -> [String] {
            try context.fetch(request).map { "\($0["note"])" }
        }
        var context: ManagedObjectContext? = container.newContext()
        let before = try notes(try #require(context))
        let many = (0..<30_000).map { "m\($0),\(String(repeating: "much ", count: 20))\($0)\n" }.joined()
        let result = try tool.run(
            "import", tool.store, try tool.file("many.csv", "id,note\n" + many), "--entity", "Row", "--key", "id")
        #expect(result.status == 0)
        #expect(try container.store.environment.information().mapSize == 1 << 20)
        #expect(try notes(try #require(context)) == before)
        #expect {
            _ = try container.store.snapshot()
        } throws: {
            "\($0)".contains(
                "another process enlarged the store; this process can use it again once no snapshot is open")
        }
        #expect(try notes(try #require(context)) == before)
        context = nil
        #expect(try notes(container.newContext()).count == 30_050)
        #expect(try tool.run("check", tool.store).status == 0)
    }
}
