internal import CLMDB
#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif
internal import Synchronization

/// The environments that this process has open, by path.
///
/// This is the package's one global state, and it is LMDB's: closing a second environment of a path would
/// drop the process's file locks on the first.
enum EnvironmentRegistry {
    private struct Entry {
        weak var environment: Environment?
        // Closed once, under the registry's lock.
        nonisolated(unsafe) let handle: OpaquePointer
        /// Tells one opening of a path from the next, whose handle may have the same address.
        let opening: UInt64
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var openings: UInt64 = 0
    }

    private static let state = Mutex(State())

    static func open(at path: String, options: Environment.Options) throws -> Environment {
        // The environment leaves the lock before anyone can let go of it: its closing takes the lock too.
        let environment = try state.withLock { state in
            if let entry = state.entries[path] {
                if let environment = entry.environment { return environment }
                // Its last owner has let go and waits for this lock to close it.
                mdb_env_close(entry.handle)
                state.entries[path] = nil
            }
            state.openings += 1
            let environment = try Environment(path: path, options: options, opening: state.openings)
            state.entries[path] = Entry(
                environment: environment, handle: environment.handle, opening: environment.opening)
            return environment
        }
        if environment.isReadOnly && !options.isReadOnly { throw EnvironmentIsReadOnly(path: path) }
        return environment
    }

    /// Runs a body while no environment of a path is open in this process, or can be opened.
    static func withClosedEnvironment<Value: Sendable>(at path: String, _ body: () throws -> Value) throws -> Value {
        try state.withLock { state in
            if let entry = state.entries[path] {
                guard entry.environment == nil else { throw Environment.InUse(process: Int(getpid())) }
                mdb_env_close(entry.handle)
                state.entries[path] = nil
            }
            return try body()
        }
    }

    static func close(at path: String, opening: UInt64) {
        state.withLock { state in
            guard let entry = state.entries[path], entry.opening == opening else { return }
            mdb_env_close(entry.handle)
            state.entries[path] = nil
        }
    }
}

/// The path is open in this process for reading only.
package struct EnvironmentIsReadOnly: Error, CustomStringConvertible {
    package let path: String
    package var description: String { "\(path) is already open read-only in this process" }
}
