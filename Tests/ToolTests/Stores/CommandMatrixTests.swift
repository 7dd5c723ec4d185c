import FetchIndexLMDB
import FetchIndexTestSupport
import Foundation
import Testing

/// Every command on a store whose file has the layout of the linked LMDB, and on one of the other LMDB: it works on
/// the former; on the latter it works if it only reads, or is refused with the sentence that names both versions.
@Suite struct CommandMatrixTests {
    let tool: Tool
    private let rows: String
    private let changes: String
    private var out: String { tool.folder.path + "/out" }

    init() throws {
        tool = try Tool()
        rows = try tool.file("rows.csv", "key,price\nitem 1,7\n")
        changes = try tool.file("changes.jsonl", #"{"op":"delete","key":"item 1"}"# + "\n")
    }

    private enum Outcome: String {
        case works, refused, fails
    }

    private struct Case {
        let arguments: [String]
        let onOther: Outcome
        /// The outcome on a file of the linked LMDB.
        var onOwn = Outcome.works
        /// Whether the command runs until it's interrupted. It works if it prints something.
        var runsOn = false
    }

    /// The arguments of each command behind the store's folder.
    private var cases: [String: Case] {
        [
            "import": Case(arguments: [rows, "--entity", "Item", "--key", "key"], onOther: .refused),
            "export": Case(arguments: ["--entity", "Item"], onOther: .works),
            "fetch": Case(arguments: ["--cache", "by group"], onOther: .works),
            "apply": Case(arguments: [changes, "--entity", "Item"], onOther: .refused),
            "changes": Case(arguments: ["--cache", "by group"], onOther: .works),
            "watch": Case(arguments: ["--cache", "by group"], onOther: .works, runsOn: true),
            // Nothing listens on port 1.
            "follow": Case(
                arguments: ["postgresql://127.0.0.1:1/none", "--table", "items"], onOther: .refused, onOwn: .fails),
            "bookmark add": Case(arguments: ["mail"], onOther: .refused),
            "bookmark list": Case(arguments: [], onOther: .works),
            "bookmark delete": Case(arguments: ["mail"], onOther: .refused, onOwn: .fails),
            "rank": Case(arguments: ["--cache", "by group", "--key", "item 1"], onOther: .works),
            "diff": Case(arguments: [rows, "--entity", "Item", "--key", "key"], onOther: .works),
            "refresh": Case(arguments: [], onOther: .refused),
            "cache list": Case(arguments: [], onOther: .works),
            "cache show": Case(arguments: ["by group"], onOther: .works),
            "cache verify": Case(arguments: [], onOther: .works),
            "cache rebuild": Case(arguments: ["by group"], onOther: .refused),
            "cache maintain": Case(arguments: ["by group"], onOther: .refused),
            "cache lock": Case(arguments: ["by group"], onOther: .refused),
            "cache unlock": Case(arguments: ["by group"], onOther: .refused),
            "cache delete": Case(arguments: ["by group"], onOther: .refused),
            "model show": Case(arguments: [], onOther: .works),
            "model plan": Case(arguments: ["--entity", "Item", "--drop", "text"], onOther: .works),
            "model migrate": Case(arguments: ["--entity", "Item", "--drop", "text"], onOther: .refused),
            "model diff": Case(arguments: [tool.store], onOther: .works),
            "model index add": Case(arguments: ["price"], onOther: .refused),
            "model index drop": Case(arguments: ["price"], onOther: .refused, onOwn: .fails),
            "model drop-entity": Case(arguments: ["--entity", "Item"], onOther: .refused),
            "info": Case(arguments: [], onOther: .works),
            "report": Case(arguments: ["--out", out + ".html"], onOther: .works),
            "browse": Case(arguments: [], onOther: .works, runsOn: true),
            "check": Case(arguments: [], onOther: .works),
            "check --repair": Case(arguments: [], onOther: .refused),
            "backup": Case(arguments: [out], onOther: .refused),
            "compact": Case(arguments: [], onOther: .refused),
            "upgrade": Case(arguments: [], onOther: .works),
        ]
    }

    /// The names of all commands, from the tool's own description of them.
    private func commands() throws -> [String] {
        let help = try tool.run("--experimental-dump-help")
        let tree = try JSONSerialization.jsonObject(with: Data(help.output.utf8)) as? [String: Any]
        func names(_ command: [String: Any], _ path: [String]) -> [String] {
            let parts = (command["subcommands"] as? [[String: Any]] ?? []).filter {
                $0["commandName"] as? String != "help"
            }
            if parts.isEmpty { return [path.joined(separator: " ")] }
            return parts.flatMap { names($0, path + [$0["commandName"] as? String ?? ""]) }
        }
        return names(try #require(tree?["command"] as? [String: Any]), [])
    }

    private func outcome(_ name: String, _ tried: Case) throws -> (outcome: Outcome, text: String) {
        let arguments = name.split(separator: " ").map(String.init) + [tool.store] + tried.arguments
        let result = tried.runsOn ? try firstOutput(arguments) : try tool.run(arguments)
        let isRefused = result.status == 1 && result.error.hasSuffix(refusal) && result.error.hasPrefix("fetchindex")
        return (result.status == 0 ? .works : isRefused ? .refused : .fails, result.error)
    }

    /// The sentence with which a file of the other LMDB is refused.
    private var refusal: String {
        let other = OtherLMDBStore.layout
        return ": the store \(tool.store) must be converted first: its data.mdb has data version "
            + "\(other.rawValue) of \(other.releases), but this program uses LMDB \(LinkedLMDB.version), which writes "
            + "version \(PageLayout.linked.rawValue); `fetchindex upgrade` converts it\n"
    }

    private static let seconds = 60.0

    /// What a command prints before it's interrupted. Its status counts as 0 if it printed something.
    private func firstOutput(_ arguments: [String]) throws -> Tool.Result {
        let (outputPath, errorPath) = (try tool.file("first-output", ""), try tool.file("first-error", ""))
        let process = tool.process(arguments)
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: outputPath))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errorPath))
        try process.run()
        let end = Date() + Self.seconds
        func output() throws -> String { try String(contentsOfFile: outputPath, encoding: .utf8) }
        while process.isRunning, try output().isEmpty, Date() < end { usleep(20_000) }
        kill(process.processIdentifier, SIGINT)
        process.waitUntilExit()
        return Tool.Result(
            status: try output().isEmpty ? max(1, process.terminationStatus) : 0, output: try output(),
            error: try String(contentsOfFile: errorPath, encoding: .utf8))
    }

    @Test func eachCommandHasItsOutcomeOnBothVersions() throws {
        let cases = cases
        #expect(try Set(commands()) == Set(cases.keys.filter { !$0.contains("--") }))
        var lines: [String] = []
        for (name, tried) in cases.sorted(by: { $0.key < $1.key }) {
            var found: [String] = []
            for layout in PageLayout.allCases {
                for path in [tool.store, out] { try? FileManager.default.removeItem(atPath: path) }
                try OtherLMDBStore.write(to: tool.store, layout)
                let before = try Data(contentsOf: URL(fileURLWithPath: tool.store + "/data.mdb"))
                let (outcome, text) = try outcome(name, tried)
                let isOther = layout != .linked
                #expect(outcome == (isOther ? tried.onOther : tried.onOwn), "\(name), \(layout): \(text)")
                if isOther && name != "upgrade" {
                    let after = try Data(contentsOf: URL(fileURLWithPath: tool.store + "/data.mdb"))
                    #expect(before == after, "\(name) changed the file")
                }
                if outcome == .refused {
                    // A follower's own lock file is made before the store is opened.
                    let names = try Set(FileManager.default.contentsOfDirectory(atPath: tool.store))
                    #expect(names.subtracting(["follow.lock"]) == ["data.mdb"], "\(name)")
                    #expect(!FileManager.default.fileExists(atPath: out), "\(name)")
                }
                found.append("file of \(layout.releases) \(outcome)")
            }
            lines.append("matrix: LMDB \(LinkedLMDB.version), \(name): \(found.joined(separator: ", "))")
        }
        print(lines.joined(separator: "\n"))
    }
}
