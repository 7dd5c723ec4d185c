/// Why a store was not copied.
public enum StoreCopyError: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is something at the path already.
    case destinationExists(path: String)
    /// The text says why.
    case failed(path: String, String)
    /// A process has the store open.
    case inUse(process: Int, program: String?)

    public var description: String {
        switch self {
        case .destinationExists(let path): "\(path) already exists; choose a new or empty folder"
        case .failed(let path, let reason): "\(path) cannot be written: \(reason)"
        case .inUse(let process, let program):
            "process \(process)\(program.map { " (\($0))" } ?? "") has the store open; compact it when no process has"
        }
    }
}
