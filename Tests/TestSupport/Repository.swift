package import Foundation

/// The files of this repository.
package enum Repository {
    package static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The text of the file at a path in the repository.
    package static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The lines of the file at a path in the repository, with the empty ones.
    package static func lines(_ path: String) throws -> [Substring] {
        try text(path).split(separator: "\n", omittingEmptySubsequences: false)
    }
}
