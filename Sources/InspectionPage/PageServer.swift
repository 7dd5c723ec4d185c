internal import FetchIndex
internal import FlyingFox
internal import FlyingSocks
internal import Foundation

/// Serves the live page of a store on this machine's loopback, to those who know its address.
package struct PageServer: Sendable {
    /// That port is in use, or may not be used.
    package struct CannotListen: Error, CustomStringConvertible {
        package let description: String
    }

    private let store: BrowsedStore
    private let gate: PageGate
    private let server: HTTPServer

    /// Begins to serve a store. Port 0 takes a free one. Throws `StoreError` and `CannotListen`.
    package static func run(
        storeAt path: String, port: UInt16, whenListening: @Sendable (_ address: String) throws -> Void
    ) async throws {
        let store = try BrowsedStore(at: path)
        let gate = PageGate()
        let address = try sockaddr_in.inet(ip4: "127.0.0.1", port: port)
        let server = HTTPServer(
            config: .init(address: address, timeout: 60, pool: PromptSocketPool(), logger: .disabled),
            handler: PageHandler(store: store, gate: gate))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await listen(server, port) }
            group.addTask { await store.run() }
            do {
                try await server.waitUntilListening()
                guard case .ip4(_, let actual) = await server.listeningAddress else { throw CancellationError() }
                gate.open(port: actual)
                try whenListening("http://127.0.0.1:\(actual)/\(gate.token)/")
            } catch {
                group.cancelAll()
                // The error that ended the server says more.
                while let result = await group.nextResult() { try result.get() }
                throw error
            }
            try await group.next()
            group.cancelAll()
        }
    }

    private static func listen(_ server: HTTPServer, _ port: UInt16) async throws {
        do { try await server.run() } catch is CancellationError {
        } catch {
            if Task.isCancelled { return }
            throw CannotListen(description: "port \(port) of 127.0.0.1 cannot be used: \(error)")
        }
    }
}
