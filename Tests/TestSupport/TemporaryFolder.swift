internal import Foundation

/// Whether options of the address or the thread sanitizer are set, as by `Scripts/test-long`. A sanitizer needs address
/// space and files, so it fails if a test limits these for a process.
package let isUnderSanitizer = ["ASAN_OPTIONS", "TSAN_OPTIONS"].contains {
    ProcessInfo.processInfo.environment[$0] != nil
}

/// The environment variables that a process with an otherwise empty environment needs: those with which the system finds
/// another LMDB than its own.
package let libraryEnvironment = ProcessInfo.processInfo.environment.filter { $0.key == "LD_LIBRARY_PATH" }

/// The path of a folder for one test. The test creates the folder, which is removed when this object is released.
package final class TemporaryFolder: Sendable {
    package let path = NSTemporaryDirectory() + "fetchindex-" + UUID().uuidString

    package init() {}

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Runs a command and returns its status and standard output.
    package static func run(_ command: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [command] + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}
