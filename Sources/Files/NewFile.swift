internal import SystemBasics

/// A file that gets its name when it is complete. Until `keep` it is PATH.partial, which is removed with this value; when
/// the process dies, the next writer of the path replaces it. Only its owner may read it.
package struct NewFile: ~Copyable {
    package let path: String
    package let descriptor: CInt
    private var isKept = false

    /// Throws EBUSY when another process is writing a file of this path.
    package init(at path: String) throws(SystemError) {
        let partial = path + ".partial"
        let opened = Descriptors.open(partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW)
        guard opened >= 0 else { throw SystemError.last }
        var code: CInt = 0
        if flock(opened, LOCK_EX | LOCK_NB) != 0 {
            code = errno == EWOULDBLOCK ? EBUSY : errno
        } else if !Self.isOnlyName(partial, of: opened) {
            // The process that held the lock has just given the file its name.
            code = EBUSY
        } else if fchmod(opened, 0o600) != 0 || ftruncate(opened, 0) != 0 {
            code = errno
        }
        if code != 0 {
            close(opened)
            throw SystemError(rawValue: code)
        }
        self.path = path
        descriptor = opened
    }

    /// Whether a path names the opened file, which is a regular one and has no other name.
    private static func isOnlyName(_ path: String, of file: CInt) -> Bool {
        var opened = stat()
        var named = stat()
        guard fstat(file, &opened) == 0, lstat(path, &named) == 0 else { return false }
        return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev && opened.st_nlink == 1
            && opened.st_mode & S_IFMT == S_IFREG
    }

    deinit {
        if !isKept { unlink(path + ".partial") }
        close(descriptor)
    }

    /// Removes what a process left of a file of this path that died while it wrote it. What is being written stays.
    package static func removeLeftover(of path: String) {
        guard access(path + ".partial", F_OK) == 0 else { return }
        // Removed with this value.
        _ = try? NewFile(at: path)
    }

    package func write(_ bytes: RawSpan) throws(SystemError) {
        let code = bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return count == 0 ? EIO : errno }
                rest = rest.dropFirst(count)
            }
            return 0
        }
        if code != 0 { throw SystemError(rawValue: code) }
    }

    /// Syncs the file and gives it its name, replacing a file of that name; throws EEXIST if there is one and it must not be
    /// replaced. fsync, rename or link
    package consuming func keep(replacing: Bool = true) throws(SystemError) {
        let partial = path + ".partial"
        guard fsync(descriptor) == 0, (replacing ? rename(partial, path) : link(partial, path)) == 0 else {
            throw SystemError.last
        }
        if !replacing { unlink(partial) }
        isKept = true
        try Self.synchronize(folderOf: path)
    }

    /// A name is on the disk when its folder is.
    package static func synchronize(folderOf path: String) throws(SystemError) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        try OpenFile(folder, O_RDONLY | O_DIRECTORY).sync()
    }
}

#if canImport(Glibc)
    private let systemWrite = Glibc.write
#else
    private let systemWrite = Darwin.write
#endif
