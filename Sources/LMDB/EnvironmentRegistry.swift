internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import CFetchIndexLMDB
internal import Synchronization

/// The environments that this process has open, identified by their files.
///
/// The registry is global, because LMDB requires it: if a second environment of the same lock file were closed, the
/// process would lose its locks on that file. A path doesn't identify an environment, since its folder may have been
/// renamed, or deleted and created again.
enum EnvironmentRegistry {
    private struct Entry {
        weak var environment: Environment?
        // The handle is closed once, under the locks of the gate and of the registry.
        nonisolated(unsafe) let handle: OpaquePointer?
        /// The number of this opening. It distinguishes openings whose handles have the same address.
        let opening: UInt64
        let gate: FolderGate
        let dataFile: FileIdentity
        let lockFile: FileIdentity?
    }

    private enum Found: Sendable {
        case nothing
        case open(Environment)
        /// An open environment has one of the two files at the path, but not both. Or an environment with one or both
        /// of them is just being closed under another folder's gate; it's nil in this case.
        case moved(Environment?)
    }

    private struct State {
        var gates: [FileIdentity: WeakGate] = [:]
        var entries: [Entry] = []
        var openings: UInt64 = 0

        mutating func find(_ dataFile: FileIdentity?, _ lockFile: FileIdentity?, _ gate: FolderGate) -> Found {
            while let index = entries.firstIndex(where: {
                $0.dataFile == dataFile || $0.lockFile != nil && $0.lockFile == lockFile
            }) {
                let entry = entries[index]
                if let environment = entry.environment {
                    let isSame = entry.dataFile == dataFile && (entry.lockFile == nil || entry.lockFile == lockFile)
                    return isSame ? .open(environment) : .moved(environment)
                }
                // The environment's last owner has released it, but hasn't closed it yet. It's closed here if its gate
                // is the one that this thread holds. Otherwise its last owner closes it.
                guard entry.gate === gate else { return .moved(nil) }
                mdb_env_close(entry.handle)
                entries.remove(at: index)
            }
            return .nothing
        }
    }

    private static let state = Mutex(State())

    /// The number of environments that this process has open.
    static var openCount: Int { state.withLock { $0.entries.count } }

    /// Opens an environment, and creates it if the options allow it. While one opening waits for a folder, other
    /// folders can be opened.
    static func open(at path: String, options: Environment.Options) throws -> Environment {
        // The environment is returned from the locked scope before it's released, because releasing it takes the same
        // locks.
        let found: Found = try withGate(ofFolder: path) { gate in
            let found = try find(path, gate)
            guard case .nothing = found else { return found }
            if !options.isReadOnly && options.creates { try Environment.createDataFile(inFolder: path, options) }
            let opening = state.withLock { state in
                state.openings += 1
                return state.openings
            }
            let environment = try Environment(path: path, options: options, opening: opening, gate: gate)
            let entry = Entry(
                environment: environment, handle: environment.handle, opening: opening, gate: gate,
                dataFile: environment.dataFile, lockFile: environment.lockFile)
            state.withLock { $0.entries.append(entry) }
            return .open(environment)
        }
        guard case .open(let environment) = found else { throw EnvironmentMoved(path: path) }
        // An environment that was already open may have been opened by another path, for example before its folder was
        // renamed. So its own path is checked: it must still lead to the files.
        try environment.requireInPlace()
        if environment.isReadOnly && !options.isReadOnly { throw EnvironmentIsReadOnly(path: path) }
        return environment
    }

    /// Runs a body while this process has no environment open in a folder. Another thread that opens the folder
    /// meanwhile waits. Throws `InUse` if this process has a file of the environment open.
    static func withClosedEnvironment<Value: Sendable>(at path: String, _ body: () throws -> Value) throws -> Value {
        var found = Found.nothing  // a found environment is released after the locks
        return try withGate(ofFolder: path) { gate in
            found = try find(path, gate)
            guard case .nothing = found else { throw Environment.InUse(process: Int(getpid())) }
            return try body()
        }
    }

    private static func find(_ path: String, _ gate: FolderGate) throws -> Found {
        let dataFile = try FileIdentity(ofPath: EnvironmentFiles.data(in: path))
        let lockFile = try FileIdentity(ofPath: EnvironmentFiles.lock(in: path))
        return state.withLock { $0.find(dataFile, lockFile, gate) }
    }

    static func close(opening: UInt64, _ gate: FolderGate) {
        gate.lock.withLock { _ in
            state.withLock { state in
                guard let index = state.entries.firstIndex(where: { $0.opening == opening }) else { return }
                mdb_env_close(state.entries[index].handle)
                state.entries.remove(at: index)
            }
        }
    }

    private static func withGate<Value: Sendable>(
        ofFolder path: String, _ body: (FolderGate) throws -> Value
    ) throws -> Value {
        while true {
            guard let folder = try FileIdentity(ofPath: path) else { throw LMDBError(rawValue: ENOENT) }
            let gate = gate(of: folder)
            let value: Value? = try gate.lock.withLock { _ in
                // The folder may have been deleted and created again while another thread held the gate.
                try FileIdentity(ofPath: path) == folder ? try body(gate) : nil
            }
            if let value { return value }
        }
    }

    private static func gate(of folder: FileIdentity) -> FolderGate {
        state.withLock { state in
            if let gate = state.gates[folder]?.gate { return gate }
            let gate = FolderGate()
            state.gates = state.gates.filter { $0.value.gate != nil }
            state.gates[folder] = WeakGate(gate: gate)
            return gate
        }
    }
}

/// A lock that lets only one thread at a time open, close or compact the environment of a folder.
final class FolderGate: Sendable {
    let lock = Mutex(())
}

private struct WeakGate {
    weak var gate: FolderGate?
}

/// Thrown when a path is opened for writing, but this process has it open for reading only.
package struct EnvironmentIsReadOnly: Error, CustomStringConvertible {
    package let path: String
    package var description: String { "\(path) is already open read-only in this process" }
}

/// Thrown if the path no longer leads to the files that this process opened, or leads to only one of the two. The open
/// files can still be read.
package struct EnvironmentMoved: Error, CustomStringConvertible {
    package let path: String
    package var description: String { "its files were moved or replaced while this process had them open" }
}
