internal import FetchIndexEssentials
internal import FetchIndexPlatform

/// The file of one version of a model, or a store that contains its own.
struct ModelBundle {
    let path: String
    let bytes: [UInt8]
    /// Whether the file is a store whose newest changes may be missing, because its log isn't beside it.
    let lacksLog: Bool

    /// Whether the file is a compiled model, a keyed archive. If not, it's XML.
    var isArchive: Bool { bytes.starts(with: "bplist0".utf8) }

    /// The kinds of bundles with versions.
    private struct Kind {
        /// The ending of the bundle's name.
        let ending: String
        /// The ending of a version's name.
        let ofVersion: String
        /// The property list that names the current version, and its key for that.
        let list: String
        let key: String

        static let source = Kind(
            ending: ".xcdatamodeld", ofVersion: ".xcdatamodel", list: ".xccurrentversion", key: "_XCCurrentVersionName")
        static let compiled = Kind(
            ending: ".momd", ofVersion: ".mom", list: "VersionInfo.plist",
            key: "NSManagedObjectModel_CurrentVersionName")
    }

    /// Finds the file with the model at a URL: a version of a bundle, or the file itself. Throws `CoreDataFileError`.
    init(_ url: URL, version: String?) throws {
        var path = url.path
        var isVersion = true
        for kind in [Kind.source, .compiled] where Self.isFolder(path) && isVersion {
            let versions = try Self.versions(in: path, kind)
            if versions.isEmpty && !path.hasSuffix(kind.ending) { continue }
            path += "/" + (try Self.name(of: version, among: versions, in: path, kind))
            isVersion = false
        }
        if isVersion, let version {
            throw CoreDataFileError(path: path, reason: "it is one version of a model, so it has no version \(version)")
        }
        if Self.isFolder(path) {
            let contents = path + "/contents"
            guard FileManager.default.fileExists(atPath: contents) else {
                throw CoreDataFileError(
                    path: path,
                    reason: FileManager.default.fileExists(atPath: path + "/elements")
                        ? "it is a model of Xcode 3, whose form is not read; save it with a later Xcode first"
                        : "it has no file named contents, so it is not a model")
            }
            path = contents
        }
        self.path = path
        if Self.isStore(path) {
            let copy = try StoreCopy(path)
            guard let archive = try copy.modelArchive() else {
                throw CoreDataFileError(
                    path: path, reason: "the store does not contain its model; read the app's model instead")
            }
            (bytes, lacksLog) = (archive, copy.lacksLog)
            return
        }
        (bytes, lacksLog) = (try Self.read(path), false)
    }

    private static func isStore(_ path: String) -> Bool {
        (try? SmallFile.bytes(of: path, limit: StoreCopy.magic.count)) == StoreCopy.magic
    }

    /// Whether a path leads to a folder, also through a symbolic link.
    private static func isFolder(_ path: String) -> Bool { (try? Folder.kind(at: path + "/")) == .folder }

    /// The names of the versions of the bundle at a URL, without their endings; empty if it isn't one.
    static func versions(at url: URL) throws -> [String] {
        for kind in [Kind.source, .compiled] where isFolder(url.path) {
            let versions = try versions(in: url.path, kind)
            if !versions.isEmpty { return versions.map { String($0.dropLast(kind.ofVersion.count)) } }
        }
        return []
    }

    /// The model in the file. Throws `CoreDataFileError`.
    func source() throws -> SourceModel {
        do {
            return try isArchive ? SourceModel(archive: bytes) : SourceModel(xml: bytes)
        } catch let error as XMLTree.Malformed {
            throw CoreDataFileError(path: path, reason: error.reason)
        } catch let error as KeyedArchive.Malformed {
            throw CoreDataFileError(path: path, reason: error.reason)
        }
    }

    /// The names of the versions that are directly in a bundle; some bundles also contain other bundles.
    private static func versions(in path: String, _ kind: Kind) throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(kind.ofVersion) }
                .sorted { $0.dropLast(kind.ofVersion.count) < $1.dropLast(kind.ofVersion.count) }
        } catch {
            throw CoreDataFileError(path: path, reason: "the folder cannot be read")
        }
    }

    private static func name(
        of version: String?, among versions: [String], in path: String, _ kind: Kind
    ) throws -> String {
        let titles = versions.map { String($0.dropLast(kind.ofVersion.count)) }.joined(separator: ", ")
        func find(_ name: String) -> String? { versions.first { $0 == name || $0 == name + kind.ofVersion } }
        if let version {
            guard let name = find(version) else {
                throw CoreDataFileError(path: path, reason: "it has no version \(version); its versions are: \(titles)")
            }
            return name
        }
        if let current = try currentVersion(of: path, kind) {
            guard let name = find(current) else {
                throw CoreDataFileError(
                    path: path, reason: "its current version, \(current), is missing; its versions are: \(titles)")
            }
            return name
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

    /// The name of the current version that a bundle's property list gives; nil if the list is missing.
    private static func currentVersion(of path: String, _ kind: Kind) throws -> String? {
        let file = path + "/" + kind.list
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        let bytes = try read(file)
        if let list = BinaryPropertyList(bytes) {
            if let place = list.member(kind.key, of: list.top), case .text(let name) = list[place] { return name }
        } else {
            do {
                let members = try XMLTree.read(bytes).children.first?.children ?? []
                for (key, value) in zip(members, members.dropFirst()) where key.text == kind.key { return value.text }
            } catch let error as XMLTree.Malformed { throw CoreDataFileError(path: file, reason: error.reason) }
        }
        throw CoreDataFileError(path: file, reason: "it does not name the current version")
    }

    /// The largest file that is read, in bytes. Models have some hundred kilobytes.
    private static let greatestLength = 64 << 20

    private static func read(_ path: String) throws -> [UInt8] {
        guard let bytes = try? SmallFile.bytes(of: path, limit: greatestLength + 1) else {
            throw CoreDataFileError(path: path, reason: "it cannot be read")
        }
        if bytes.count > greatestLength { throw CoreDataFileError(path: path, reason: "it is larger than 64 MiB") }
        return bytes
    }
}
