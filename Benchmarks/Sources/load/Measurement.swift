import Foundation
import Stores

/// Runs readers and a writer as processes on a copy of a store, and prints their results.
struct Measurement {
    let rows: Int
    let seconds: Int

    func run() async throws {
        try await Stores(rows: rows).prepare()
        let store = try Stores(rows: rows).copyStore()
        defer { try? FileManager.default.removeItem(at: store.deletingLastPathComponent()) }
        sync()  // Otherwise the writer's first commit would wait until the copy is on disk.
        print("\(rows) rows, \(seconds) s each, load of the machine before: \(load)")
        // A reader runs for 5 seconds, so that the first measurement needs few disk reads.
        _ = try finish([try start("reader", store, "5", "0")])
        let alone = try reads([try start("reader", store, "\(seconds)", "1")])[0]
        print("one reader alone: \(alone)")

        let writer = try start("writer", store, "\(seconds)", "\(rows)", "7")
        let reader = try start("reader", store, "\(seconds)", "1")
        watchFile(store)
        let beside = try reads([reader])[0]
        print(
            "one reader beside a writer: \(beside); \(percent(beside.byClock, alone.byClock)) of the reader alone by the clock, "
                + "\(percent(beside.byProcessor, alone.byProcessor)) by its processor's time")
        print("the writer: \(try finish([writer])[0])")

        let secondWriter = try start("writer", store, "\(seconds)", "\(rows)", "8")
        let readers = try (1...8).map { try start("reader", store, "\(seconds)", "\($0)") }
        watchFile(store)
        let eight = try reads(readers)
        let slowest = eight.min { $0.byClock < $1.byClock }
        print("eight readers beside a writer: \(eight.reduce(0) { $0 + $1.byClock }) rows/s in all")
        print("  the slowest: \(slowest.map(String.init(describing:)) ?? "")")
        print("the writer: \(try finish([secondWriter])[0])")
    }

    private var load: String {
        (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8))?.split(separator: " ").first.map(String.init)
            ?? "unknown"
    }

    /// Prints the file's size every ten seconds while processes run.
    private func watchFile(_ store: URL) {
        let path = store.appendingPathComponent("data.mdb").path
        func size() -> Int { (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0 }
        let first = size()
        for second in stride(from: 10, through: seconds, by: 10) {
            Thread.sleep(forTimeInterval: 10)
            let grown = Double(size() - first) / 1_048_576
            print(String(format: "  after %d s: %d bytes, %+.2f MiB", second, size(), grown))
        }
    }

    private typealias Started = (process: Process, output: Pipe)

    private func start(_ mode: String, _ store: URL, _ arguments: String...) throws -> Started {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = [mode, store.path] + arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        return (process, output)
    }

    private struct Failed: Error {}

    private func finish(_ processes: [Started]) throws -> [String] {
        try processes.map { process, output in
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw Failed() }
            return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    /// The results of a reader: rows per second of the clock and of its processor time, and the number of times that it
    /// opened the order.
    private struct Reads: CustomStringConvertible {
        let byClock: Int
        let byProcessor: Int
        let moves: Int

        var description: String { "\(byClock) rows/s (\(byProcessor) by its processor's time), \(moves) openings" }
    }

    private func percent(_ part: Int, _ whole: Int) -> String { "\(part * 100 / max(whole, 1)) %" }

    private func reads(_ processes: [Started]) throws -> [Reads] {
        try finish(processes).map { line in
            let numbers = line.split(separator: " ").compactMap { Int($0) }
            guard numbers.count == 3 else { throw Failed() }
            return Reads(byClock: numbers[0], byProcessor: numbers[1], moves: numbers[2])
        }
    }
}
