internal import CLMDB
#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif
internal import Synchronization

/// The environments that this process has open, by their data files.
///
/// This is the package's one global state, and it is LMDB's: closing a second environment of a file would drop the
/// process's file locks on the first. A path would not tell: its folder may have been renamed, or deleted and made anew.
enum EnvironmentRegistry {
    private struct Entry {
        weak var environment: Environment?
        // Closed once, under the registry's lock.
        nonisolated(unsafe) let handle: OpaquePointer
        /// Tells one opening of a file from the next, whose handle may have the same address.
        let opening: UInt64
    }

    private struct State {
        var entries: [FileIdentity: Entry] = [:]
        var openings: UInt64 = 0

        /// The environment that has a file open. Closes one whose last owner has let go and waits for the lock to do it.
        mutating func environment(of file: FileIdentity?) -> Environment? {
            guard let file, let entry = entries[file] else { return nil }
            if let environment = entry.environment { return environment }
            mdb_env_close(entry.handle)
            entries[file] = nil
            return nil
        }
    }

    private static let state = Mutex(State())

    static func open(at path: String, options: Environment.Options) throws -> Environment {
        // The environment leaves the lock before anyone can let go of it: its closing takes the lock too.
        let environment = try state.withLock { state in
            if let open = state.environment(of: FileIdentity(ofPath: path + "/data.mdb")) { return open }
            state.openings += 1
            let environment = try Environment(path: path, options: options, opening: state.openings)
            state.entries[environment.file] = Entry(
                environment: environment, handle: environment.handle, opening: environment.opening)
            return environment
        }
        if environment.isReadOnly && !options.isReadOnly { throw EnvironmentIsReadOnly(path: path) }
        return environment
    }

    /// Runs a body while no environment of a folder is open in this process, or can be opened.
    static func withClosedEnvironment<Value: Sendable>(at path: String, _ body: () throws -> Value) throws -> Value {
        var open: Environment?  // let go of when the lock is
        return try state.withLock { state in
            open = state.environment(of: FileIdentity(ofPath: path + "/data.mdb"))
            guard open == nil else { throw Environment.InUse(process: Int(getpid())) }
            return try body()
        }
    }

    static func close(_ file: FileIdentity, opening: UInt64) {
        state.withLock { state in
            guard let entry = state.entries[file], entry.opening == opening else { return }
            mdb_env_close(entry.handle)
            state.entries[file] = nil
        }
    }
}

/// What makes a file itself, whatever its name. A file that is open keeps it from all others. stat
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64

    private init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// Nil where there is no file, or none that may be looked at.
    init?(ofPath path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init(ofOpen descriptor: CInt) throws(LMDBError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw LMDBError(rawValue: errno) }
        self.init(status)
    }
}

/// The path is open in this process for reading only.
package struct EnvironmentIsReadOnly: Error, CustomStringConvertible {
    package let path: String
    package var description: String { "\(path) is already open read-only in this process" }
}
