import FetchIndex
import Foundation
import GRDB
import Stores

/// Measures imports of files with unique keys as whole processes: the tool against sqlite3.
struct ImportFigures {
    private let rows: Int

    init(rows: Int) { self.rows = rows }

    func measure() throws -> [Figure] {
        let rounds = isBrief ? 1 : 3
        // Both programs run once, so that loading them from disk isn't measured.
        _ = try seconds(Self.tool, ["--help"])
        _ = try seconds("/usr/bin/env", ["sqlite3", "--version"])
        let folder = try Stores.scratch()
        defer { try? FileManager.default.removeItem(at: folder) }
        return try [Shape.files, .shuffledFiles].flatMap { shape in
            let catalogue = Stores(rows: rows, shape).catalogueURL.path
            // The file is read once, so that both sides read it from the page cache.
            _ = try Data(contentsOf: URL(fileURLWithPath: catalogue))
            let times = try (0..<rounds).map { try round($0, shape, catalogue, in: folder) }
            func median(_ time: KeyPath<Times, Double>) -> Double {
                times.map { $0[keyPath: time] }.sorted()[rounds / 2]
            }
            return [
                figure("keyed import\(shape.suffix)", median(\.ours), "s"),
                figure(
                    "keyed import\(shape.suffix), divided by sqlite3's", median(\.ours) / median(\.peer), limit: 0.5,
                    "times"),
                figure(
                    "import of the same file again\(shape.suffix), divided by the first",
                    median(\.again) / median(\.ours),
                    limit: 0.5, "times"),
            ]
        }
    }

    private struct Times {
        var ours = 0.0
        var again = 0.0
        var peer = 0.0
    }

    /// Measures both sides in one round. The sides take turns in being first. The tool is first in round 0.
    private func round(_ number: Int, _ shape: Shape, _ catalogue: String, in folder: URL) throws -> Times {
        let store = folder.appendingPathComponent("store \(number)")
        let database = folder.appendingPathComponent("peer \(number).sqlite").path
        var times = Times()
        func importOurs() throws {
            let arguments = ["import", store.path, catalogue, "--entity", "File", "--key", "path"]
            times.ours = try seconds(Self.tool, arguments)
            // The repeated import is short, so the median of three is taken.
            let again = try (0..<3).map { _ in try seconds(Self.tool, arguments) }
            times.again = again.sorted()[1]
        }
        func importPeers() throws {
            let command = ".import --csv --skip 1 '\(catalogue)' \(shape.table)"
            times.peer = try seconds(
                "/usr/bin/env",
                ["sqlite3", database, shape.createTable(isUnique: true, hasID: false), command])
        }
        if number % 2 == 1 { try importPeers() }
        try importOurs()
        if number % 2 == 0 { try importPeers() }
        let context = try PersistentContainer(at: store, durability: .none).newContext()
        let found = try context.count(for: FetchRequest<ManagedObject>(entityName: "File"))
        let peerFound = try DatabaseQueue(path: database).read {
            try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM \(shape.table)")
        }
        guard found == rows, peerFound == rows else {
            fatalError("\(rows) rows must be imported, not \(found) and \(peerFound ?? 0)")
        }
        try FileManager.default.removeItem(at: store)
        try FileManager.default.removeItem(atPath: database)
        return times
    }

    private func figure(_ question: String, _ value: Double, limit: Double? = nil, _ unit: String) -> Figure {
        Figure(question: question, rows: rows, value: value, limit: limit, unit: unit)
    }

    /// The tool, in the folder of this executable.
    private static var tool: String {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("fetchindex")
            .path
    }

    private func seconds(_ program: String, _ arguments: [String]) throws -> Double {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        // Otherwise one side could wait for the disk to write the other side's data.
        sync()
        let time = try ContinuousClock().measure {
            try process.run()
            process.waitUntilExit()
        }
        guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
        return time / .seconds(1)
    }
}
