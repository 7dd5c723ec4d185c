import Foundation
import FetchIndexTestSupport

/// An element as screen readers see it.
struct AccessibleNode {
    let role: String
    let name: String

    init(_ json: [String: Any]) {
        func value(_ key: String) -> Any? { (json[key] as? [String: Any])?["value"] }
        role = value("role") as? String ?? ""
        name = value("name") as? String ?? ""
    }
}

/// Keys as WebDriver writes them.
enum Key {
    static let (tab, enter, escape, space) = ("\u{E004}", "\u{E007}", "\u{E00C}", " ")
    static let (up, down, home, end) = ("\u{E013}", "\u{E015}", "\u{E011}", "\u{E010}")
}

/// A real browser without a window, controlled through its driver (W3C WebDriver).
final class Browser {
    struct Failed: Error { let answer: String }

    /// The path of ChromeDriver, which Debian's package chromium-driver installs; nil if it's missing.
    static let driver = ["/usr/bin/chromedriver", "/usr/local/bin/chromedriver"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private let process: Child
    private let client: Loopback
    private var session = ""

    private init() throws {
        // A random port, which is probably free. `shared` tries a second one.
        let port = UInt16.random(in: 20_000..<30_000)
        client = Loopback(port: port)
        process = try Child(Self.driver ?? "", ["--port=\(port)"], errors: "/dev/null")
        for _ in 0..<200 {
            if (try? client.get("/status").status) == 200 { break }
            usleep(50_000)
        }
        let options: [String: Any] = [
            "args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900",
            ]
        ]
        let wanted: [String: Any] = [
            "goog:chromeOptions": options, "goog:loggingPrefs": ["browser": "ALL", "performance": "ALL"],
        ]
        let answer = try call("POST", "/session", ["capabilities": ["alwaysMatch": wanted]])
        guard let session = (answer as? [String: Any])?["sessionId"] as? String else {
            throw Failed(answer: "\(answer)")
        }
        self.session = "/session/" + session
    }

    nonisolated(unsafe) private static let made = Result { try (try? Browser()) ?? Browser() }

    /// The browser of all tests, with an empty page and empty logs. It is ended when the process exits.
    static func shared() throws -> Browser {
        _ = endsWithProcess
        let browser = try made.get()
        try browser.open("about:blank")
        for kind in ["browser", "performance"] { _ = try browser.log(kind) }
        return browser
    }

    private static let endsWithProcess: Void = {
        atexit {
            guard let browser = try? Browser.made.get() else { return }
            _ = try? browser.call("DELETE", browser.session, [:])
            browser.process.killAtOnce()
            _ = browser.process.wait()
        }
    }()

    private func call(_ method: String, _ path: String, _ values: [String: Any]) throws -> Any {
        let response = try client.post(path, values, method: method)
        guard response.status == 200, let value = response.json["value"] else { throw Failed(answer: response.body) }
        return value
    }

    func open(_ address: String) throws { _ = try call("POST", session + "/url", ["url": address]) }

    /// Runs a script and returns its result.
    @discardableResult
    func run(_ script: String, _ arguments: [Any] = []) throws -> Any {
        try call("POST", session + "/execute/sync", ["script": script, "args": arguments])
    }

    /// Presses keys of the keyboard, one after the other.
    func press(_ keys: String...) throws {
        let strokes = keys.flatMap { key in ["keyDown", "keyUp"].map { ["type": $0, "value": key] } }
        let keyboard: [String: Any] = ["type": "key", "id": "keyboard", "actions": strokes]
        _ = try call("POST", session + "/actions", ["actions": [keyboard]])
    }

    /// The page as the browser prints it, a PDF.
    func printed() throws -> String {
        let text = try call("POST", session + "/print", [:]) as? String ?? ""
        return String(decoding: Data(base64Encoded: text) ?? Data(), as: UTF8.self)
    }

    /// The nodes of the tree that the browser gives to screen readers.
    func accessibleNodes() throws -> [AccessibleNode] {
        let command: [String: Any] = ["cmd": "Accessibility.getFullAXTree", "params": [String: Any]()]
        let answer = try call("POST", session + "/goog/cdp/execute", command) as? [String: Any]
        let nodes = answer?["nodes"] as? [[String: Any]] ?? []
        return nodes.filter { $0["ignored"] as? Bool != true }.map(AccessibleNode.init)
    }

    func text(_ script: String) throws -> String { try run("return \(script)") as? String ?? "" }

    func number(_ script: String) throws -> Int { (try run("return \(script)") as? NSNumber)?.intValue ?? -1 }

    /// Waits until an expression is true. An expression that throws counts as false. Returns false after the time
    /// limit.
    func wait(for expression: String, seconds: Double = 20) throws -> Bool {
        let end = Date() + seconds
        while Date() < end {
            let script = "try { return Boolean(\(expression)) } catch { return false }"
            if (try run(script) as? NSNumber)?.boolValue == true { return true }
            usleep(20_000)
        }
        return false
    }

    /// The messages of a log: `browser` is the console's log, and `performance` has the network's events.
    func log(_ kind: String) throws -> [String] {
        let entries = try call("POST", session + "/se/log", ["type": kind]) as? [[String: Any]] ?? []
        return entries.compactMap { $0["message"] as? String }
    }
}
