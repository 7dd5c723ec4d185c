/// The reason why a file of Core Data can't be read.
public struct CoreDataFileError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The path of the file or folder.
    public let path: String
    /// What is wrong, and what was expected.
    public let reason: String

    public var description: String { "\(path): \(reason)" }
}
