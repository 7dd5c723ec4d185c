internal import FetchIndexEssentials
internal import FetchIndexPlatform

/// The file of one version of a model.
struct ModelBundle {
    let path: String
    let bytes: [UInt8]

    /// Finds the file with the model at a URL: a version of a bundle, or the file itself. Throws `CoreDataFileError`.
    init(_ url: URL, version: String?) throws {
        var path = url.path
        if (try? Folder.kind(at: path)) == .folder {
            let versions = try Self.versions(in: path)
            if !versions.isEmpty || path.hasSuffix(".xcdatamodeld") {
                path += "/" + (try Self.name(of: version, among: versions, in: path))
            } else {
                try Self.requireNoVersion(version, path)
            }
            path += "/contents"
            guard FileManager.default.fileExists(atPath: path) else {
                let folder = String(path.dropLast("/contents".count))
                throw CoreDataFileError(
                    path: folder,
                    reason: FileManager.default.fileExists(atPath: folder + "/elements")
                        ? "it is a model of Xcode 3, whose form is not read; save it with a later Xcode first"
                        : "it has no file named contents, so it is not a model")
            }
        } else {
            try Self.requireNoVersion(version, path)
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CoreDataFileError(path: path, reason: "it cannot be read")
        }
        self.path = path
        bytes = [UInt8](data)
    }

    private static func requireNoVersion(_ version: String?, _ path: String) throws {
        guard let version else { return }
        throw CoreDataFileError(path: path, reason: "it is one version of a model, so it has no version \(version)")
    }

    private static let suffix = ".xcdatamodel"

    /// The names of the versions that are directly in a bundle; some bundles also contain other bundles.
    private static func versions(in path: String) throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(suffix) }
                .sorted { $0.dropLast(suffix.count) < $1.dropLast(suffix.count) }
        } catch {
            throw CoreDataFileError(path: path, reason: "the folder cannot be read")
        }
    }

    private static func name(of version: String?, among versions: [String], in path: String) throws -> String {
        let titles = versions.map { String($0.dropLast(suffix.count)) }.joined(separator: ", ")
        if let version {
            guard let name = versions.first(where: { $0 == version || $0 == version + suffix }) else {
                throw CoreDataFileError(path: path, reason: "it has no version \(version); its versions are: \(titles)")
            }
            return name
        }
        if let current = try currentVersion(of: path) {
            guard versions.contains(current) else {
                throw CoreDataFileError(
                    path: path, reason: "its current version, \(current), is missing; its versions are: \(titles)")
            }
            return current
        }
        guard versions.count == 1 else {
            throw CoreDataFileError(
                path: path,
                reason: versions.isEmpty
                    ? "it contains no version of a model"
                    : "it does not say which version is the current one; its versions are: \(titles)")
        }
        return versions[0]
    }

    /// The name that `.xccurrentversion`, a property list in XML, gives; nil if the file is missing.
    private static func currentVersion(of path: String) throws -> String? {
        let file = path + "/.xccurrentversion"
        guard let data = FileManager.default.contents(atPath: file) else { return nil }
        do {
            let members = try XMLTree.read([UInt8](data)).children.first?.children ?? []
            for (key, value) in zip(members, members.dropFirst()) where key.text == "_XCCurrentVersionName" {
                return value.text
            }
        } catch let error as XMLTree.Malformed {
            throw CoreDataFileError(path: file, reason: error.reason)
        }
        throw CoreDataFileError(path: file, reason: "it does not name the current version")
    }
}
