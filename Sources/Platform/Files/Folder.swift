internal import FetchIndexCLibrary

/// Lists the names in a folder, and tells the kinds of files: that of a symbolic link is `link`.
package enum Folder {
    package enum FileKind: Equatable, Sendable {
        case file(length: Int)
        case link
        case folder
        /// A pipe, a socket or a device.
        case other
    }

    /// Returns the kind of the file at a path; nil if the file is missing. lstat
    package static func kind(at path: String) throws(SystemError) -> FileKind? {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw SystemError.last
        }
        return switch status.st_mode & S_IFMT {
        case S_IFREG: .file(length: Int(status.st_size))
        case S_IFLNK: .link
        case S_IFDIR: .folder
        default: .other
        }
    }

    /// Returns the names in a folder; nil if the path isn't a folder or can't be read. readdir
    package static func names(in path: String) -> [String]? {
        guard let folder = opendir(path) else { return nil }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if ![".", ".."].contains(name) { names.append(name) }
        }
        return names
    }
}
