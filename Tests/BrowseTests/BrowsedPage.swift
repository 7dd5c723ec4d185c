import FetchIndex
import Foundation
import FetchIndexTestSupport

/// A store, and `fetchindex browse` on that store, started like a user would start it.
final class BrowsedPage {
    struct NotStarted: Error { let output: String }

    static let hostile = "<script>window.hostile = 1</script><img src=x onerror='window.hostile = 1'>\u{600}<b>"

    let folder = TemporaryFolder()
    let container: PersistentContainer
    private(set) var server: Child?
    private(set) var port: UInt16 = 0
    /// The path of the page: the token between slashes.
    private(set) var root = ""

    var store: String { folder.path + "/store" }
    /// The file for the standard error of a server that is started with a limit of open files.
    var errors: String { folder.path + "/server-errors" }
    var address: String { "http://127.0.0.1:\(port)\(root)" }
    var client: Loopback { Loopback(port: port) }

    /// The requests of the caches in the browsed store.
    static let caches = [
        "by group": OrderDefinition(
            entity: "Item", sortKeys: [SortKey("size"), SortKey("name")], sectionKey: .attribute("group")),
        "plain & \"odd\" <name>": OrderDefinition(entity: "Item", sortKeys: [SortKey("name")]),
    ]

    init(items: Int) throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        container = try PersistentContainer(
            at: URL(fileURLWithPath: folder.path + "/store"),
            model: Model(entities: [
                Entity(
                    "Item",
                    [
                        AttributeDescription("name", .string, isUnique: true), AttributeDescription("group", .string),
                        AttributeDescription("size", .integer), AttributeDescription("made", .date),
                    ])
            ]), durability: .none)
        try insert(0..<items)
        for (name, definition) in Self.caches { try container.withOrder(definition, .init(cacheName: name)) { _ in } }
    }

    func insert(_ numbers: Range<Int>) throws {
        let writer = try BatchWriter(container, entity: "Item", key: "name", author: "test")
        for number in numbers {
            let group: Value =
                number % 10 == 0 ? .null : number % 10 == 1 ? .string("") : .string("group \(number % 10)")
            let name = number == 7 ? Self.hostile : "item \(number)"
            try writer.insert([.string(name), group, .integer(Int64(number * 7919 % 1000)), .null])
        }
        try writer.commit()
    }

    /// The tool, which the package manager builds into the folder of the test bundle.
    static var executable: URL {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let products = bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL
        return products.appendingPathComponent("fetchindex")
    }

    func run(_ arguments: [String]) throws {
        guard try status(of: arguments).code == 0 else { throw NotStarted(output: "\(arguments)") }
    }

    /// Runs the tool. Returns its exit code and its standard error, which goes through a file.
    func status(of arguments: [String]) throws -> (code: Int32, errors: String) {
        let path = folder.path + "/errors-" + UUID().uuidString
        let code = try Child(Self.executable.path, arguments, errors: path).wait()
        return (code ?? -1, try String(contentsOfFile: path, encoding: .utf8))
    }

    /// Starts the server. `files` is the maximum number of files and sockets that it may open.
    func start(files: Int? = nil) throws {
        let output = folder.path + "/address.json"
        let command = [Self.executable.path, "browse", store, "--output", "json"]
        let server: Child
        if let files {
            server = try Child(
                "/bin/bash", ["-c", "ulimit -n \(files); exec \"$0\" \"$@\""] + command, output: output, errors: errors)
        } else {
            server = try Child(command[0], Array(command.dropFirst()), output: output)
        }
        self.server = server
        var line = Data()
        for _ in 0..<2000 where line.last != 10 && server.isRunning {
            usleep(10_000)
            line = (try? Data(contentsOf: URL(fileURLWithPath: output))) ?? Data()
        }
        guard let json = try? JSONSerialization.jsonObject(with: line) as? [String: String],
            let address = json["address"].flatMap(URLComponents.init), let port = address.port
        else { throw NotStarted(output: String(decoding: line, as: UTF8.self)) }
        self.port = UInt16(port)
        root = address.path
    }

    /// Sends a request like those of the page's scripts.
    func ask(_ path: String, _ values: [String: String] = [:]) throws -> Loopback.Response {
        let query = values.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")" }
        return try client.get(root + path + (query.isEmpty ? "" : "?" + query.sorted().joined(separator: "&")))
    }
}
