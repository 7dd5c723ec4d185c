internal import FetchIndexRecords
internal import FetchIndexModels
internal import FetchIndexPlatform

/// A file that appears under its name only when it is complete. The umask determines its permissions.
///
/// For exports and reports, which must not replace a file of a store. Users write their own files.
package final class ExportFile {
    private let path: String
    private var file: NewFile?

    /// Creates the file under a temporary name. Throws, for example, if the path exists but isn't a regular file, or if
    /// it's in the folder of a store.
    package init(at path: String) throws {
        self.path = path
        switch try? Folder.kind(at: path) {
        case nil, .file: break
        default: throw StoreCopyError.failed(path: path, "it is not a regular file")
        }
        try Store.requireOutsideOfStores(path)
        do { file = try NewFile(at: path, .byUmask) } catch {
            throw StoreCopyError.failed(path: path, Self.reason(error))
        }
    }

    package func write(_ bytes: [UInt8]) throws {
        do { try file?.write(bytes.span.bytes) } catch {
            file = nil
            throw StoreCopyError.failed(path: path, Self.reason(error))
        }
    }

    /// Gives the complete file its name. Replaces a file that has the name.
    package func keep() throws {
        do {
            if let whole = file.take() { try whole.keep() }
        } catch { throw StoreCopyError.failed(path: path, Self.reason(error)) }
    }

    private static func reason(_ error: SystemError) -> String {
        error == .busy ? "another process is writing it" : "\(error)"
    }
}
