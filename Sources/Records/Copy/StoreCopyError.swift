/// An error of a backup or a compaction.
public enum StoreCopyError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The path exists, and isn't a readable, empty folder.
    case destinationExists(path: String)
    /// The backup or compaction failed; the text says why.
    case failed(path: String, String)
    /// A process has the store open.
    case inUse(process: Int, program: String?)

    public var description: String {
        switch self {
        case .destinationExists(let path): "\(path) already exists; choose a new or empty folder"
        case .failed(let path, let reason): "\(path) cannot be written: \(reason)"
        case .inUse(let process, let program):
            "process \(process)\(program.map { " (\($0))" } ?? "") has the store open; compact it when no process has it open"
        }
    }
}
