import FetchIndexCoreDataFiles
import FetchIndexTestSupport
import Foundation

/// Files with models, in a folder of a test.
struct ModelFiles {
    static let library = Bundle.module.url(forResource: "Models", withExtension: nil)!
        .appendingPathComponent("Library.xcdatamodeld")
    let folder = TemporaryFolder()

    func file(_ name: String, _ text: String) throws -> URL {
        let url = URL(fileURLWithPath: folder.path).appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
        return url
    }

    /// The error for a file, without its path.
    func reason(_ url: URL, version: String? = nil) -> String {
        do {
            _ = try CoreDataModel(contentsOf: url, version: version)
            return ""
        } catch let error as CoreDataFileError { return error.reason } catch { return "\(error)" }
    }
}
