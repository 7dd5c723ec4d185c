import FetchIndex
import FetchIndexFaultScript
import Foundation
import FetchIndexTestSupport
import Testing

/// Runs the built victim on a store in a folder of its own.
///
/// The test target doesn't depend on the victim, because the victim's recorder would then be linked into the tests. The
/// package manager builds the victim into the folder of the test bundle.
struct VictimRunner {
    let folder = TemporaryFolder()

    init() throws { try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true) }

    var store: String { folder.path + "/store" }

    static func executable(_ name: String) -> URL {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let products = bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL
        return products.appendingPathComponent(name)
    }

    /// A running victim, and the file that it writes its lines to.
    final class Running {
        let process = Process()
        private let output: String

        init(_ runner: VictimRunner, _ arguments: [String]) throws {
            output = runner.folder.path + "/output-" + UUID().uuidString
            try Data().write(to: URL(fileURLWithPath: output))
            process.executableURL = VictimRunner.executable("FetchIndexVictim")
            process.arguments = arguments
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
            try process.run()
        }

        func lines() throws -> [String] {
            try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").map(String.init)
        }

        /// Waits until the victim has written a line, or has ended.
        func waitForLine() throws {
            while process.isRunning, try lines().isEmpty { usleep(1000) }
        }

        /// Waits until the victim has ended, and returns its lines.
        func finish() throws -> [String] {
            process.waitUntilExit()
            return try lines()
        }
    }

    func start(_ mode: String, _ arguments: [String] = [], store: String? = nil) throws -> Running {
        try Running(self, [mode, store ?? self.store] + arguments)
    }

    /// Runs a victim until it ends, and returns its lines.
    func run(_ mode: String, _ arguments: String...) throws -> [String] { try start(mode, arguments).finish() }
}

/// Expects that a store is sound, and returns its state.
func soundState(_ path: String, _ context: String) throws -> ScriptState {
    let container = try PersistentContainer(at: URL(fileURLWithPath: path), model: ItemRow.model)
    let defects = try container.check { _, _ in }
    #expect(defects.isEmpty, "\(context): \(defects)")
    return try ScriptState(of: container)
}
