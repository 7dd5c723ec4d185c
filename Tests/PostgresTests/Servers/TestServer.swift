import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport

/// A PostgreSQL server for tests. Its folder is removed when the object is released. Optimized code releases a variable
/// after its last use: `defer { server.stop() }` keeps a server to the end of its test.
final class TestServer {
    struct NotReady: Error {}

    static let isInstalled: Bool = {
        // Scripts/postgres-server fetches a version that isn't installed.
        if ProcessInfo.processInfo.environment["FETCHINDEX_POSTGRES"] != nil { return true }
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        return !versions.isEmpty
    }()

    /// The major version that is demanded, or the newest one that is installed.
    private static let version: Int? = {
        if let demanded = ProcessInfo.processInfo.environment["FETCHINDEX_POSTGRES"] { return Int(demanded) }
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        return versions.compactMap { Int($0) }.max()
    }()
    /// Whether publications can have conditions and lists of columns.
    static let hasFilters = version.map { $0 >= 15 } ?? false
    /// Whether slots can send prepared transactions.
    static let hasTwoPhaseSlots = version.map { $0 >= 14 } ?? false
    /// Whether slots can be kept up to date on standbys, and followers can wait for standbys.
    static let hasFailoverSlots = version.map { $0 >= 17 } ?? false
    /// Whether the server has collations of ICU. PyPI's servers haven't.
    static let hasICU = version.map { FileManager.default.fileExists(atPath: "/usr/lib/postgresql/\($0)") } ?? false

    /// The server's folder. The user that runs the server can enter it.
    let folder = ServerFolders.new()
    private(set) var port: UInt16
    private let settings: [String]
    /// The language of the server's messages, if its translation is installed.
    private let language: String
    private var process: Child?

    init(_ settings: [String] = [], language: String = "en") throws {
        port = try Self.freePort()
        (self.settings, self.language) = (settings, language)
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
        let end = Date() + 60
        // After a crash, processes that have not ended yet may keep a new server from starting.
        repeat {
            let process = try Child(
                "/usr/bin/env",
                [
                    "LANGUAGE=\(language)", Repository.root.appendingPathComponent("Scripts/postgres-server").path,
                    folder, "\(port)", "fsync=off", "wal_sender_timeout=5s", "max_replication_slots=200",
                    "max_wal_senders=60",
                ] + settings, errors: "/dev/null")
            self.process = process
            while process.isRunning, Date() < end {
                if (try? Connection(address())) != nil { return }
                usleep(50_000)
            }
        } while Date() < end
        throw NotReady()
    }

    /// Stops the server, and waits until it has ended.
    func stop() {
        process?.interrupt()
        _ = process?.wait()
        process = nil
    }

    /// Replaces the rules of pg_hba.conf.
    func setAccess(_ rules: String...) throws {
        try rules.map { $0 + "\n" }.joined().write(
            toFile: files + "/pg_hba.conf", atomically: false, encoding: .utf8)
        try reload(connection())
    }

    /// Reloads the settings, and waits until new connections have them.
    private func reload(_ connection: Connection) throws {
        let loaded = "SELECT pg_conf_load_time()"
        let before = try self.connection().value(loaded)
        try connection.execute("SELECT pg_reload_conf()")
        let end = Date() + 60
        // If a connection is refused, the new rules are in use, too.
        while let found = try? self.connection().value(loaded), found == before {
            if Date() > end { throw NotReady() }
            usleep(20_000)
        }
    }

    /// Restarts at the port of another server, which must be stopped.
    func takePlace(of other: TestServer) throws {
        stop()
        port = other.port
        try start()
    }

    private var files: String { folder + "/cluster" }

    /// Keeps a copy of the current files, which stands for a standby that falls behind.
    func keepFiles() throws {
        stop()
        guard try Child("/bin/cp", ["-a", files, files + "-kept"]).wait() == 0 else { throw NotReady() }
        try start()
    }

    /// Restarts as a standby that takes over: with all transactions, or only with those of the kept files.
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

    /// Runs commands whose commits wait for a missing standby, so that they are in the log but invisible. Connections
    /// that the user postgres makes afterwards commit without waiting; those that are open already would wait.
    func leaveWaiting(_ commands: [String]) throws {
        let owner = try connection()
        try owner.execute("SET synchronous_commit = local")
        try owner.execute("ALTER ROLE postgres SET synchronous_commit = local")
        try owner.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try reload(owner)
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

    /// Lets the waiting commits end after a while.
    func endWaiting(after microseconds: UInt32) {
        let address = address()
        Thread.detachNewThread {
            usleep(microseconds)
            guard let connection = try? Connection(address) else { return }
            _ = try? connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
            _ = try? connection.execute("SELECT pg_reload_conf()")
        }
    }

    /// Kills the server's main process, as if the server had crashed. The next start recovers.
    func crash() {
        let main = (try? String(contentsOfFile: folder + "/cluster/postmaster.pid", encoding: .utf8))?
            .split(separator: "\n").first.flatMap { pid_t($0) }
        if let main { kill(main, SIGKILL) }
        _ = process?.wait()
        process = nil
    }

    func address(user: String = "postgres", database: String = "postgres") -> String {
        "postgres://\(user)@127.0.0.1:\(port)/\(database)"
    }

    func connection() throws -> Connection { try Connection(address()) }

    @discardableResult
    func run(_ command: String) throws -> [[String?]] { try connection().execute(command) }

    /// Creates a new database, and returns its address.
    func makeDatabase() throws -> String {
        let name = "test_" + UUID().uuidString.filter { $0 != "-" }.lowercased()
        try run("CREATE DATABASE \(name)")
        return address(database: name)
    }
}

extension TestServer {
    nonisolated(unsafe) private static let made = Result { try TestServer() }

    /// The server that most tests share. It ends with the process.
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
