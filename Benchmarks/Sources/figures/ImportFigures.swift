import Catalogue
import Foundation
import Stores

/// What the import of a file with unique keys costs, as whole processes: the tool beside sqlite3.
struct ImportFigures {
    private let rows: Int

    init(rows: Int) { self.rows = rows }

    func measure() throws -> [Figure] {
        try [Shape.files, .shuffledFiles].flatMap { shape in
            let folder = try Stores.scratch()
            defer { try? FileManager.default.removeItem(at: folder) }
            let catalogue = folder.appendingPathComponent("files.csv").path
            try write(shape, to: catalogue)
            let store = folder.appendingPathComponent("store").path
            let arguments = [
                "import", store, catalogue, "--entity", "File", "--key", "path",
            ]
            let ours = try seconds(Self.tool, arguments)
            let again = try seconds(Self.tool, arguments)
            let peer = try seconds(
                "/usr/bin/env",
                [
                    "sqlite3", folder.appendingPathComponent("peer.sqlite").path,
                    shape.createTable(isUnique: true, hasID: false),
                    ".import --csv --skip 1 \(catalogue) \(shape.table)",
                ])
            return [
                figure("keyed import\(shape.suffix)", ours, "s"),
                figure("the same by sqlite3's\(shape.suffix)", ours / peer, limit: 0.5, "times"),
                figure("import of the same file again\(shape.suffix), by the first", again / ours, limit: 0.5, "times"),
            ]
        }
    }

    private func figure(_ question: String, _ value: Double, limit: Double? = nil, _ unit: String) -> Figure {
        Figure(question: question, rows: rows, value: value, limit: limit, unit: unit)
    }

    /// Beside this program.
    private static var tool: String {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("fetchindex")
            .path
    }

    /// No value needs quotes.
    private func write(_ shape: Shape, to path: String) throws {
        var text = shape.columns.joined(separator: ",") + "\n"
        shape.forEachRow(rows) { row in text += row.map(\.description).joined(separator: ",") + "\n" }
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    private func seconds(_ program: String, _ arguments: [String]) throws -> Double {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        let time = try ContinuousClock().measure {
            try process.run()
            process.waitUntilExit()
        }
        guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
        return time / .seconds(1)
    }
}
