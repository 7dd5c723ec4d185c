import CFetchIndexSQLite
import Foundation
import FetchIndexTestSupport
import Testing

/// Runs the built `fetchindex` as a user would.
struct Tool {
    let folder = TemporaryFolder()

    init() throws { try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true) }

    var store: String { folder.path + "/蔵書 store" }

    struct Result {
        let status: Int32
        let output: String
        let error: String

        /// The output as one JSON document; nil if it isn't one.
        let json: Any?

        init(status: Int32, output: String, error: String) {
            (self.status, self.output, self.error) = (status, output, error)
            let isJSON = output.hasPrefix("{") || output.hasPrefix("[")
            json = isJSON ? try? JSONSerialization.jsonObject(with: Data(output.utf8)) : nil
        }

        subscript(key: String) -> Any? { (json as? [String: Any])?[key] }
    }

    /// The tool, which the package manager builds in the folder of the test bundle.
    static var executable: URL {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let products = bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL
        return products.appendingPathComponent("fetchindex")
    }

    func process(_ arguments: [String]) -> Process {
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        return process
    }

    func run(_ arguments: String...) throws -> Result { try run(arguments) }

    /// Runs the tool. `environment` is added to the environment of the tests.
    func run(_ arguments: [String], environment: [String: String] = [:]) throws -> Result {
        let outputPath = folder.path + "/output-" + UUID().uuidString
        let errorPath = folder.path + "/error-" + UUID().uuidString
        for path in [outputPath, errorPath] { try Data().write(to: URL(fileURLWithPath: path)) }
        let process = process(arguments)
        if !environment.isEmpty {
            process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        }
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: outputPath))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errorPath))
        try process.run()
        process.waitUntilExit()
        return Result(
            status: process.terminationStatus, output: try String(contentsOfFile: outputPath, encoding: .utf8),
            error: try String(contentsOfFile: errorPath, encoding: .utf8))
    }

    /// Writes a file and returns its path.
    func file(_ name: String, _ text: String) throws -> String { try file(name, Data(text.utf8)) }

    func file(_ name: String, _ data: Data) throws -> String {
        let path = folder.path + "/" + name
        try data.write(to: URL(fileURLWithPath: path))
        return path
    }

    /// The values of all rows of a fetch, read from its JSON.
    func rows(_ arguments: String...) throws -> [[String: Any]] {
        let result = try run(["fetch", store, "--output", "json"] + arguments)
        let rows = result["rows"] as? [[String: Any]] ?? []
        return rows.compactMap { $0["values"] as? [String: Any] }
    }
}

extension Tool {
    /// The bytes of all files of the store, by name. LMDB's table of readers is left out, because each reader writes it.
    func storeFiles() throws -> [String: Data] {
        let files = FileManager.default
        var found: [String: Data] = [:]
        for name in try files.subpathsOfDirectory(atPath: store) where name != "lock.mdb" {
            found[name] = files.contents(atPath: store + "/" + name)
        }
        return found
    }

    /// Imports a file into the entity E, and returns the types of its attributes after the import.
    func importedTypes(_ arguments: String...) throws -> String {
        let result = try run(["import", store] + arguments + ["--entity", "E"])
        #expect(result.status == 0, "\(result.error)")
        return try run("export", store, "--entity", "E", "--print-types").output
    }

    /// The rows of entity E as CSV.
    func exportedRows() throws -> String { try run("fetch", store, "--entity", "E", "--output", "csv").output }
}

extension Tool {
    /// Executes statements in a database of SQLite.
    func sqlite(_ path: String, _ sql: String) {
        var handle: OpaquePointer?
        #expect(sqlite3_open(path, &handle) == SQLITE_OK)
        defer { sqlite3_close(handle) }
        var message: UnsafeMutablePointer<CChar>?
        #expect(
            sqlite3_exec(handle, sql, nil, nil, &message) == SQLITE_OK, "\(message.map { String(cString: $0) } ?? "")")
    }
}
