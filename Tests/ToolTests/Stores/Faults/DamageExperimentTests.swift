@testable import FetchIndexLMDB
import Foundation
import FetchIndexTestSupport
import Testing

/// Copies of a store, each with one kind of damage. If a byte of a value is damaged, a command's result is right, an
/// error, or a rebuilt cache. If damaged pages make a result wrong, `check` must not call the store whole.
///
/// FETCHINDEX_TEST_DAMAGES is the number of copies of each kind.
@Suite(.serialized) struct DamageExperimentTests {
    private static let copies = TestSettings.damages
    private static let pageLength = 4096
    /// The maximum time that a command may take on a damaged store.
    private static let seconds = 20.0

    private enum Kind: String, CaseIterable {
        case record, node, log, unique, header, meta  // a byte of a value
        case bit, pageHeader, metaPage, zeroed, swapped, random, cut

        /// The table in which a value is damaged; nil if bytes at any place in pages are damaged or missing.
        var table: String? {
            switch self {
            case .record: "records"
            case .node: "nodes"
            case .header: "caches"
            case .log, .unique, .meta: rawValue
            default: nil
            }
        }
    }

    private enum Outcome: String, CaseIterable {
        case right, rebuilt, error, wrong, malformed, trapped, slow
    }

    let tool: Tool
    private let pristine: String
    private let catalogue: String
    private let changes: String

    init() throws {
        tool = try Tool()
        pristine = tool.folder.path + "/pristine"
        var text = "key,group,size,note\n"
        for number in 0..<1500 {
            let note = number % 200 == 7 ? String(repeating: "long ", count: 1200) : "note \(number * 31 % 97)"
            text += "k\(number),g\(number % 13),\(number * 7919 % 1500),\(number % 50 == 0 ? "" : note)\n"
        }
        catalogue = try tool.file("rows.csv", text)
        changes = try tool.file(
            "changes.jsonl",
            (0..<40).map { "{\"op\":\"update\",\"key\":\"k\($0 * 30)\",\"values\":{\"size\":\(5000 + $0)}}\n" }.joined()
        )
        for arguments in [
            ["import", pristine, catalogue, "--entity", "Item", "--key", "key"],
            [
                "fetch", pristine, "--entity", "Item", "--section", "group", "--sort", "size", "--cache", "hit",
                "--limit", "1",
            ],
            ["fetch", pristine, "--entity", "Item", "--sort", "note", "--cache", "behind", "--limit", "1"],
            ["apply", pristine, changes, "--entity", "Item", "--cache", "hit"],
        ] {
            let result = try tool.run(arguments)
            try #require(result.status == 0, "\(arguments): \(result.error)")
        }
    }

    /// The commands to run on copies of a store, each on a copy of its own.
    private func commands(_ store: String) -> [(name: String, arguments: [String])] {
        [
            ("check", ["check", store]),
            (
                "scan",
                ["fetch", store, "--entity", "Item", "--sort", "size,key", "--section", "group", "--output", "json"]
            ),
            ("where", ["fetch", store, "--entity", "Item", "--where", "note CONTAINS 'te 1'", "--output", "json"]),
            ("hit", ["fetch", store, "--entity", "Item", "--cache", "hit", "--output", "json"]),
            ("behind", ["fetch", store, "--entity", "Item", "--cache", "behind", "--output", "json"]),
            ("changes", ["changes", store, "--cache", "behind", "--output", "json"]),
            ("export", ["export", store, "--entity", "Item", "--format", "csv"]),
            ("apply", ["apply", store, changes, "--entity", "Item"]),
            ("verify", ["cache", "verify", store]),
        ]
    }

    private struct Finished {
        let status: Int32
        let isSignal: Bool
        let isSlow: Bool
        let output: Data
        let error: String
    }

    private func run(_ arguments: [String]) throws -> Finished {
        let outputPath = tool.folder.path + "/out", errorPath = tool.folder.path + "/err"
        for path in [outputPath, errorPath] { try Data().write(to: URL(fileURLWithPath: path)) }
        let process = tool.process(arguments)
        process.environment = libraryEnvironment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: outputPath))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errorPath))
        try process.run()
        let start = Date()
        var isSlow = false
        while process.isRunning {
            usleep(1000)
            if !isSlow, Date().timeIntervalSince(start) > Self.seconds {
                isSlow = true
                kill(process.processIdentifier, SIGKILL)
            }
        }
        return Finished(
            status: process.terminationStatus, isSignal: process.terminationReason == .uncaughtSignal, isSlow: isSlow,
            output: try Data(contentsOf: URL(fileURLWithPath: outputPath)),
            error: try String(contentsOfFile: errorPath, encoding: .utf8))
    }

    /// The compared part of a command's output: a JSON document without its outcome, or all bytes of another output.
    /// Nil if the document is malformed.
    private func contents(_ name: String, _ output: Data) -> NSObject? {
        guard ["scan", "where", "hit", "behind", "changes"].contains(name) else { return output as NSData }
        guard var json = (try? JSONSerialization.jsonObject(with: output)) as? [String: Any] else { return nil }
        json["outcome"] = nil
        return json as NSDictionary
    }

    private func outcome(_ name: String, _ finished: Finished, _ whole: Finished) -> Outcome {
        if finished.isSlow { return .slow }
        if finished.isSignal { return .trapped }
        if finished.status != 0 {
            let isSentence = finished.status <= 2 && (name == "check" || name == "verify" || !finished.error.isEmpty)
            return isSentence ? .error : .trapped
        }
        guard let contents = contents(name, finished.output) else { return .malformed }
        let text = String(decoding: finished.output, as: UTF8.self)
        if text.contains("\"kind\":\"rebuilt\""), name == "changes" || contents == self.contents(name, whole.output) {
            return .rebuilt
        }
        if name == "verify" || name == "check" { return text.contains("whole") || name == "verify" ? .right : .error }
        return contents == self.contents(name, whole.output) ? .right : .wrong
    }

    /// The byte ranges of all values in the data file, by table.
    private func values() throws -> [String: [Range<Int>]] {
        guard let file = try DataFile(inFolder: pristine), let metas = try MetaPage.both(of: file) else { return [:] }
        let length = try file.length()
        let walk = try PageWalk(file, MetaPage.newest(of: metas), fileLength: length)
        var trees: [(name: String, tree: TreeRecord)] = []
        _ = try walk.walk(walk.meta.main, "the main tree", keys: .bytes) { page, key, value in
            guard case .table(let range) = value else { return "holds no table" }
            let bytes = page.bytes(range)
            trees.append((PageLayout.linked.tableName(page.bytes(key)), TreeRecord(bytes.span.bytes)))
            return nil
        }
        var places: [String: [Range<Int>]] = [:]
        for (name, tree) in trees {
            _ = try walk.walk(tree, name, keys: tree.keys ?? .bytes) { page, _, value in
                switch value {
                case .here(let range):
                    let start = Int(page.pageNumber) * Self.pageLength
                    places[name, default: []].append(start + range.lowerBound..<start + range.upperBound)
                case .overflow(let run, let count):
                    let start = Int(run.first) * Self.pageLength + PageLayout.linked.headerLength
                    places[name, default: []].append(start..<start + count)
                case .table, .unknown: break
                }
                return nil
            }
        }
        return places
    }

    private func damage(
        _ data: inout Data, _ kind: Kind, _ values: [String: [Range<Int>]], _ generator: inout SeededGenerator
    ) throws {
        let pages = data.count / Self.pageLength
        let page = Int.random(in: 2..<pages, using: &generator) * Self.pageLength
        func flip(_ range: Range<Int>) {
            data[Int.random(in: range, using: &generator)] ^= UInt8.random(in: 1...255, using: &generator)
        }
        switch kind {
        case .record, .node, .log, .unique, .header, .meta:
            flip(try #require(values[kind.table ?? ""]?.randomElement(using: &generator)))
        case .bit:
            data[Int.random(in: page..<data.count, using: &generator)] ^=
                1 << UInt8.random(in: 0..<8, using: &generator)
        case .pageHeader: flip(page..<page + PageLayout.linked.headerLength)
        case .metaPage:
            flip(
                (Bool.random(using: &generator) ? 0 : Self.pageLength)..<Self.pageLength
                    + PageLayout.linked.headerLength + 136)
        case .zeroed: data.resetBytes(in: page..<page + Self.pageLength)
        case .random:
            for offset in page..<page + Self.pageLength { data[offset] = UInt8.random(in: 0...255, using: &generator) }
        case .swapped:
            let other = Int.random(in: 2..<pages, using: &generator) * Self.pageLength
            let (one, two) = (data[page..<page + Self.pageLength], data[other..<other + Self.pageLength])
            data.replaceSubrange(page..<page + Self.pageLength, with: two)
            data.replaceSubrange(other..<other + Self.pageLength, with: one)
        case .cut: data.removeSubrange(page..<data.count)
        }
    }

    @Test func damagedValuesGiveNoWrongResultsAndTheCheckNoticesPagesThatDo() throws {
        var generator = SeededGenerator(seed: 61)
        let values = try values()
        let whole = try Data(contentsOf: URL(fileURLWithPath: pristine + "/data.mdb"))
        func copy(_ data: Data) throws -> String {
            let path = tool.folder.path + "/copy"
            try? FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try data.write(to: URL(fileURLWithPath: path + "/data.mdb"))
            return path
        }
        var sound: [String: Finished] = [:]
        for (name, arguments) in commands(try copy(whole)) {
            _ = try copy(whole)
            sound[name] = try run(arguments)
            try #require(sound[name]?.status == 0, "\(name): \(sound[name]?.error ?? "")")
        }
        var table: [Outcome: Int] = [:]
        var unnoticed = 0
        for kind in Kind.allCases {
            for copyNumber in 0..<Self.copies {
                var data = whole
                try damage(&data, kind, values, &generator)
                var found: [String: Outcome] = [:]
                for (name, arguments) in commands(try copy(data)) {
                    _ = try copy(data)
                    let finished = try run(arguments)
                    let outcome = outcome(name, finished, try #require(sound[name]))
                    found[name] = outcome
                    table[outcome, default: 0] += 1
                    let place = "\(kind) \(copyNumber), \(name): \(outcome) \(finished.error.prefix(200))"
                    // A damaged page can end the process within LMDB. A damaged value can't.
                    if kind.table != nil { #expect([.right, .rebuilt, .error].contains(outcome), "\(place)") }
                    #expect(outcome != .malformed, "\(place)")
                    #expect(outcome != .slow, "\(place)")
                }
                if found["check"] == .right, found.values.contains(.wrong) { unnoticed += 1 }
            }
        }
        #expect(unnoticed == 0, "`check` found no defects in a copy that gave a wrong result")
        let counts = Outcome.allCases.map { "\(table[$0] ?? 0) \($0)" }.joined(separator: ", ")
        print(
            "summary: \(Kind.allCases.count * Self.copies) damaged copies, \(commands("").count) commands each: \(counts)"
        )
    }
}
