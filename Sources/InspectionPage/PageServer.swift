internal import Files
internal import FlyingFox
internal import FlyingSocks
internal import SystemBasics

/// Serves the live page of a store on this machine's loopback, to those who know its address.
package struct PageServer: Sendable {
    /// The port is in use, or may not be used.
    package struct CannotListen: Error, CustomStringConvertible {
        package let description: String
    }

    /// What the caller's closure threw.
    private struct NotTold: Error { let error: any Error }

    /// How long the server waits before it listens again, after the system refused it connections.
    private static let pause = Duration.seconds(1)
    /// Seconds for an answer.
    private static let answerTime = 60.0

    private let handler: PageHandler
    private let gate: PageGate
    private let whenListening: @Sendable (_ address: String) throws -> Void

    /// Serves a store until the task is cancelled. Port 0 takes a free one. Throws `StoreError`, `CannotListen`, and what the
    /// closure throws.
    package static func run(
        storeAt path: String, port: UInt16, whenListening: @escaping @Sendable (_ address: String) throws -> Void
    ) async throws {
        let store = try BrowsedStore(at: path)
        let gate = PageGate()
        let server = PageServer(
            handler: PageHandler(store: store, gate: gate), gate: gate, whenListening: whenListening)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await store.run() }
            group.addTask { try await server.serve(on: port) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func serve(on wanted: UInt16) async throws {
        var port: UInt16?
        while !Task.isCancelled {
            do {
                try await listen(on: port ?? wanted) { actual in
                    if port == nil {
                        gate.open(port: actual)
                        do { try whenListening("http://127.0.0.1:\(actual)/\(gate.token)/") } catch {
                            throw NotTold(error: error)
                        }
                    }
                    port = actual
                }
            } catch let failure as NotTold {
                throw failure.error
            } catch {
                if Task.isCancelled { return }
                if port == nil { throw Self.cannotListen(on: wanted, error) }
                // The process has as many connections as it may have; they were closed.
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    /// Serves until an error or the end of the task.
    private func listen(on port: UInt16, _ body: (_ port: UInt16) throws -> Void) async throws {
        let server = HTTPServer(
            config: .init(
                address: try sockaddr_in.inet(ip4: "127.0.0.1", port: port), timeout: Self.answerTime,
                pool: PromptSocketPool(), logger: .disabled), handler: handler)
        try await withThrowingTaskGroup(of: UInt16?.self) { group in
            group.addTask {
                try await server.run()
                return nil
            }
            group.addTask {
                try await server.waitUntilListening()
                guard case .ip4(_, let actual) = await server.listeningAddress else { throw SocketError.disconnected }
                return actual
            }
            defer { group.cancelAll() }
            while let actual = try await group.next() {
                guard let actual else { return }
                try body(actual)
            }
        }
    }

    private static func cannotListen(on port: UInt16, _ error: any Error) -> CannotListen {
        var reason = "\(error)"
        if case .failed(_, let number, _) = error as? SocketError { reason = SystemError(rawValue: number).description }
        return CannotListen(
            description:
                "port \(port) of 127.0.0.1 cannot be used: \(reason); --port takes another, or 0 for a free one")
    }
}
