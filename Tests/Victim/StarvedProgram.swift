internal import FetchIndex
internal import Foundation

/// A user's program that lacks descriptors or file space, or has many stores open. With `of=stores` and `of=files`, it
/// then waits for a commit.
///
/// `of=stores`: opens stores until one is refused. `of=files`: opens a store, then files until no descriptor is left.
/// `of=nothing`: opens `count` stores, and saves in two of them. `of=bytes`: saves until a file may not grow any more.
struct StarvedProgram {
    private let arguments: VictimArguments

    init(_ arguments: VictimArguments) { self.arguments = arguments }

    func run() throws {
        var containers: [PersistentContainer] = []
        switch arguments["of"] {
        case "stores":
            do { while true { containers.append(try open(containers.count)) } } catch {
                VictimOutput.line("refused \(error)")
            }
        case "files":
            containers.append(try open(0))
            // A task that doesn't sleep makes Swift's runtime of tasks start before the descriptors run out.
            let isRunning = DispatchSemaphore(value: 0)
            Task { isRunning.signal() }
            isRunning.wait()
            usleep(100_000)
            while Foundation.open("/dev/null", O_RDONLY) >= 0 {}
        case "bytes":
            let text = String(repeating: "x", count: 100_000)
            do {
                let container = try open(0)
                while true { try save(text, in: container) }
            } catch { VictimOutput.line("refused \(error)") }
            // The signal must still have its default action.
            if signal(SIGXFSZ, SIG_DFL) == nil { VictimOutput.line("finished") }
            return
        default:
            raiseLimit()
            containers.append(try open(0))
            for number in 1..<arguments.number("count", or: 1) {
                // Stores are copied, since that takes less time than creating them.
                let folder = path(number)
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
                try FileManager.default.copyItem(atPath: path(0) + "/data.mdb", toPath: folder + "/data.mdb")
                containers.append(try open(number))
            }
            for container in [containers.first, containers.last].compactMap({ $0 }) { try save(in: container) }
            VictimOutput.line("finished \(containers.count)")
            return
        }
        guard let first = containers.first else { return }
        Task { [containers] in
            VictimOutput.line("waiting")
            for await commit in first.commits {
                VictimOutput.line("commit \(commit) beside \(containers.count)")
                exit(0)
            }
        }
        // Like an async `main`, `dispatchMain` ends the main thread, which takes a descriptor. If `of=files`, no
        // descriptor is left, so the main thread sleeps instead.
        if arguments["of"] == "stores" { dispatchMain() }
        while true { sleep(1) }
    }

    private func path(_ number: Int) -> String { "\(arguments.store)-\(number)" }

    private func open(_ number: Int) throws -> PersistentContainer {
        try PersistentContainer(
            at: URL(fileURLWithPath: path(number)),
            model: Model(entities: [Entity("Item", [AttributeDescription("name", .string)])]), durability: .none)
    }

    private func save(_ name: String = "one", in container: PersistentContainer) throws {
        let context = container.newContext()
        try context.insert("Item")["name"] = .string(name)
        try context.save()
    }

    private func raiseLimit() {
        var limits = rlimit()
        #if canImport(Glibc)
            let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let kind = RLIMIT_NOFILE
        #endif
        getrlimit(kind, &limits)
        limits.rlim_cur = limits.rlim_max
        setrlimit(kind, &limits)
    }
}
