import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport

/// A PostgreSQL server for tests, in a folder that is removed with it.
/// Optimized code releases a variable after its last use: `defer { server.stop() }` keeps a server to the end of its test.
final class TestServer {
    struct NotReady: Error {}

    static let isInstalled: Bool = {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        return !versions.isEmpty
    }()

    /// The server's folder, inside folders that its user can enter.
    let folder = ServerFolders.new()
    private(set) var port: UInt16
    private let settings: [String]
    private var process: Child?

    init(_ settings: [String] = []) throws {
        port = try Self.freePort()
        self.settings = settings
        try start()
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func freePort() throws -> UInt16 {
        #if canImport(Glibc)
            let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let socket = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 ? getsockname(socket, $0, &length) : -1
            }
        }
        guard code == 0 else { throw NotReady() }
        return UInt16(bigEndian: address.sin_port)
    }

    func start() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        process = try Child(
            root.appendingPathComponent("Scripts/postgres-server").path,
            [
                folder, "\(port)", "fsync=off", "wal_sender_timeout=5s", "max_replication_slots=200",
                "max_wal_senders=60",
            ] + settings, errors: "/dev/null")
        let end = Date() + 60
        while process?.isRunning ?? false, Date() < end {
            if (try? Connection(address())) != nil { return }
            usleep(50_000)
        }
        throw NotReady()
    }

    /// Stops the server, and waits until it has ended.
    func stop() {
        process?.interrupt()
        _ = process?.wait()
        process = nil
    }

    /// Takes over the address of a stopped server.
    func takePlace(of other: TestServer) throws {
        stop()
        port = other.port
        try start()
    }

    private var files: String { folder + "/cluster" }

    /// Copies the server's files, as a standby has them that falls behind from now on.
    func keepFiles() throws {
        stop()
        guard try Child("/bin/cp", ["-a", files, files + "-kept"]).wait() == 0 else { throw NotReady() }
        try start()
    }

    /// Replaces the server by a standby that has all transactions, or only those of the copied files.
    func takeOver(withKeptFiles: Bool) throws {
        stop()
        if withKeptFiles {
            try FileManager.default.removeItem(atPath: files)
            try FileManager.default.moveItem(atPath: files + "-kept", toPath: files)
        }
        try Data().write(to: URL(fileURLWithPath: files + "/standby.signal"))
        try start()
        try run("SELECT pg_promote()")
    }

    /// Runs commands whose commits wait for a missing standby: they are in the log, but not visible. The role commits
    /// without waiting.
    func leaveWaiting(_ commands: [String]) throws {
        let owner = try connection()
        try owner.execute("SET synchronous_commit = local")
        try owner.execute("ALTER ROLE postgres SET synchronous_commit = local")
        try owner.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try owner.execute("SELECT pg_reload_conf()")
        usleep(300_000)
        let address = address()
        for command in commands {
            Thread.detachNewThread {
                guard let connection = try? Connection(address) else { return }
                _ = try? connection.execute("SET synchronous_commit = on")
                _ = try? connection.execute(command)
            }
        }
        let end = Date() + 30
        while try owner.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
            != "\(commands.count)"
        {
            if Date() > end { throw NotReady() }
            usleep(20_000)
        }
    }

    /// Ends the waiting of commits after a while.
    func endWaiting(after microseconds: UInt32) {
        let address = address()
        Thread.detachNewThread {
            usleep(microseconds)
            guard let connection = try? Connection(address) else { return }
            _ = try? connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
            _ = try? connection.execute("SELECT pg_reload_conf()")
        }
    }

    /// Kills all processes of the server, as a crash of the machine would; the next start recovers.
    func crash() {
        let main = (try? String(contentsOfFile: folder + "/cluster/postmaster.pid", encoding: .utf8))?
            .split(separator: "\n").first.flatMap { pid_t($0) }
        // Child processes soon notice that the main process has ended.
        if let main { kill(main, SIGKILL) }
        _ = process?.wait()
        process = nil
        usleep(300_000)
    }

    func address(user: String = "postgres", database: String = "postgres") -> String {
        "postgres://\(user)@127.0.0.1:\(port)/\(database)"
    }

    func connection() throws -> Connection { try Connection(address()) }

    @discardableResult
    func run(_ command: String) throws -> [[String?]] { try connection().execute(command) }

    /// Creates a database for one test, and returns its address.
    func makeDatabase() throws -> String {
        let name = "test_" + UUID().uuidString.filter { $0 != "-" }.lowercased()
        try run("CREATE DATABASE \(name)")
        return address(database: name)
    }
}

extension TestServer {
    nonisolated(unsafe) private static let made = Result { try TestServer() }

    /// The server of all tests that leave it running. It ends with the process.
    static func shared() throws -> TestServer {
        _ = endsWithProcess
        return try made.get()
    }

    private static let endsWithProcess: Void = {
        atexit {
            guard let server = try? TestServer.made.get() else { return }
            server.stop()
            try? FileManager.default.removeItem(atPath: server.folder)
        }
    }()
}
