internal import CLMDB
internal import Synchronization

/// The environments that this process has open, by path.
///
/// This is the package's one global state, and it is LMDB's: closing a second environment of a path would
/// drop the process's file locks on the first.
enum EnvironmentRegistry {
    private struct Entry {
        weak var environment: Environment?
        nonisolated(unsafe) let handle: OpaquePointer
    }

    private static let entries = Mutex<[String: Entry]>([:])

    static func open(at path: String, options: Environment.Options) throws -> Environment {
        try entries.withLock { entries in
            if let entry = entries[path] {
                if let environment = entry.environment {
                    guard environment.isReadOnly == options.isReadOnly || options.isReadOnly else {
                        throw EnvironmentIsReadOnly(path: path)
                    }
                    return environment
                }
                // Its last owner has let go and waits for this lock to close it.
                mdb_env_close(entry.handle)
                entries[path] = nil
            }
            let environment = try Environment(path: path, options: options)
            entries[path] = Entry(environment: environment, handle: environment.handle)
            return environment
        }
    }

    static func close(_ handle: OpaquePointer, at path: String) {
        nonisolated(unsafe) let handle = handle
        entries.withLock { entries in
            guard entries[path]?.handle == handle else { return }
            mdb_env_close(handle)
            entries[path] = nil
        }
    }
}

/// The path is open in this process for reading only.
package struct EnvironmentIsReadOnly: Error, CustomStringConvertible {
    package let path: String
    package var description: String { "\(path) is already open read-only in this process" }
}
