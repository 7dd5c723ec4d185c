/// The reason why a file of Core Data can't be read or imported.
public struct CoreDataFileError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A property of `CoreDataImportOptions` with which the import would go on.
    public enum Remedy: Sendable {
        case model
        case mostDeleted
        case isStrict
        case hasSameIdentity
        case salvages
    }

    /// The path of the file or folder.
    public let path: String
    /// What is wrong, and what was expected.
    public let reason: String
    /// The option that allows it, if any.
    public let remedy: Remedy?

    init(path: String, reason: String, remedy: Remedy? = nil) {
        (self.path, self.reason, self.remedy) = (path, reason, remedy)
    }

    public var description: String { "\(path): \(reason)" }
}
