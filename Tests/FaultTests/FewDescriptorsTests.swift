import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Programs that use the library run out of descriptors, or have many stores open.
@Suite struct FewDescriptorsTests {
    private let runner: VictimRunner
    private var output: String { runner.folder.path + "/lines" }

    init() throws { runner = try VictimRunner() }

    private func start(_ limit: Int, _ arguments: String...) throws -> Child {
        try Child(
            "/bin/bash",
            [
                "-c", "ulimit -n \(limit); exec \"$0\" \"$@\"", VictimRunner.executable("FetchIndexVictim").path,
                "starved",
                runner.store,
            ]
                + arguments, output: output, errors: output + ".errors")
    }

    private func lines() throws -> [Substring] {
        try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n")
    }

    /// Saves in the program's first store once the program waits for a commit.
    private func commit(beside program: Child) throws {
        let end = Date() + 30
        while program.isRunning, Date() < end, try lines().last != "waiting" { usleep(2000) }
        let container = try PersistentContainer(at: URL(fileURLWithPath: runner.store + "-0"))
        let context = container.newContext()
        try context.insert("Item")["name"] = .string("one")
        usleep(100_000)
        try context.save()
    }

    /// The program opens stores until one is refused. Enough descriptors must be left for Swift's runtime of tasks, so
    /// that the program still receives a commit.
    @Test(.disabled(if: isUnderSanitizer)) func aProgramKeepsRunningAfterItOpenedAsManyStoresAsPossible() throws {
        for limit in 13...32 {
            for number in 0..<20 { try? FileManager.default.removeItem(atPath: "\(runner.store)-\(number)") }
            let program = try start(limit, "of=stores")
            try commit(beside: program)
            #expect(program.wait(seconds: 20) == 0, "\(limit)")
            let lines = try lines()
            #expect(lines.count == 3 && lines.last?.hasPrefix("commit ") == true, "\(limit): \(lines)")
            #expect(lines.first?.contains("free file descriptors") == true, "\(limit): \(lines)")
        }
    }

    @Test(.disabled(if: isUnderSanitizer)) func aProgramWithoutFreeDescriptorsIsNotifiedOfCommits() throws {
        for limit in [20, 40, 100] {
            let program = try start(limit, "of=files")
            try commit(beside: program)
            #expect(program.wait(seconds: 20) == 0, "\(limit)")
            #expect(try lines().last?.hasPrefix("commit ") == true, "\(limit)")
        }
    }

    @Test(.disabled(if: isUnderSanitizer)) func aProcessCanHaveManyStoresOpen() throws {
        var limits = rlimit()
        #if canImport(Glibc)
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        #else
            getrlimit(RLIMIT_NOFILE, &limits)
        #endif
        // This counts three descriptors for each store.
        let count = min(2000, (Int(clamping: limits.rlim_max) - 50) / 3)
        let lines = try runner.start("starved", ["of=nothing", "count=\(count)"]).finish()
        #expect(lines == ["finished \(count)"])
    }
}
