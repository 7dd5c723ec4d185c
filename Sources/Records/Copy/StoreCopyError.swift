/// An error of a backup, a compaction or an upgrade.
public enum StoreCopyError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The path exists, and isn't a readable, empty folder.
    case destinationExists(path: String)
    /// It failed; the text says why.
    case failed(path: String, String)
    /// A process has the store open.
    case inUse(process: Int, program: String?)
    /// The file from before an earlier upgrade exists: `PersistentContainer.deleteOldFile(at:)` deletes it.
    case oldFileExists(path: String)

    public var description: String {
        switch self {
        case .destinationExists(let path): "\(path) already exists; choose a new or empty folder"
        case .failed(let path, let reason): "\(path) cannot be written: \(reason)"
        case .inUse(let process, let program):
            "process \(process)\(program.map { " (\($0))" } ?? "") has the store open; try again when no process has it open"
        case .oldFileExists(let path):
            "\(path), the file from before an earlier upgrade, must be deleted first"
        }
    }
}
