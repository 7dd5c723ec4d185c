internal import FetchIndexCLibrary

/// A file that gets its final name when it's complete. Until `keep`, its name is PATH.partial, and destroying this
/// value removes it. If the process dies earlier, the next writer of the same path replaces PATH.partial.
package struct NewFile: ~Copyable {
    /// The users who may read and write the file.
    package enum Access {
        case ownerOnly
        /// Mode 0666 less the process's umask.
        case byUmask
    }

    package let path: String
    package let descriptor: CInt
    private let place: UnfinishedFiles.Place?
    private var isKept = false

    /// Creates PATH.partial. Throws EBUSY if this or another process is already writing a file with the same path.
    package init(at path: String, _ access: Access = .ownerOnly) throws(SystemError) {
        let partial = path + ".partial"
        // Signals are blocked until the path is registered: otherwise a signal's handler could miss this file.
        let held = UnfinishedFiles.holdSignals()
        defer { UnfinishedFiles.release(held) }
        let opened: CInt
        switch access {
        case .ownerOnly:
            opened = try Self.locked(partial)
            guard fchmod(opened, 0o600) == 0, ftruncate(opened, 0) == 0 else { throw Self.closing(opened, errno) }
        case .byUmask:
            // The umask applies only when a file is created, so a file that a killed process left is removed first.
            if hasName(partial) { close(try Self.locked(partial, removing: true)) }
            opened = try Self.locked(partial, O_EXCL, 0o666)
        }
        self.path = path
        descriptor = opened
        place = UnfinishedFiles.add(partial)
    }

    /// Opens or creates PATH.partial, and locks it.
    private static func locked(
        _ partial: String, _ flags: CInt = 0, _ mode: UInt16 = 0o600, removing: Bool = false
    ) throws(SystemError) -> CInt {
        let opened = Descriptors.open(partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, mode)
        guard opened >= 0 else { throw errno == EEXIST ? .busy : .last }
        if flock(opened, LOCK_EX | LOCK_NB) != 0 { throw closing(opened, errno == EWOULDBLOCK ? EBUSY : errno) }
        // This fails, for example, if the process that held the lock has just renamed or removed the file.
        guard isOnlyName(partial, of: opened) else { throw closing(opened, EBUSY) }
        if removing, unlink(partial) != 0 { throw closing(opened, errno) }
        return opened
    }

    private static func closing(_ file: CInt, _ code: CInt) -> SystemError {
        close(file)
        return SystemError(rawValue: code)
    }

    /// Whether the path names the open file, and the file is a regular one without other names.
    private static func isOnlyName(_ path: String, of file: CInt) -> Bool {
        var opened = stat()
        var named = stat()
        guard fstat(file, &opened) == 0, lstat(path, &named) == 0 else { return false }
        return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev && opened.st_nlink == 1
            && opened.st_mode & S_IFMT == S_IFREG
    }

    deinit {
        if !isKept { unlink(path + ".partial") }
        if let place { UnfinishedFiles.remove(place) }
        close(descriptor)
    }

    /// Removes PATH.partial if the process that was writing it has died. A file that is still being written stays.
    package static func removeLeftover(of path: String) {
        guard hasName(path + ".partial") else { return }
        // `NewFile` takes over the file, and removes it when it's destroyed.
        _ = try? NewFile(at: path)
    }

    package func write(_ bytes: RawSpan) throws(SystemError) {
        let code = bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let start = UnsafeRawBufferPointer(rebasing: rest).baseAddress
                let count = FetchIndexCLibrary.write(descriptor, start, rest.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return count == 0 ? EIO : errno }
                rest = rest.dropFirst(count)
            }
            return 0
        }
        if code != 0 { throw SystemError(rawValue: code) }
    }

    /// Syncs the file and gives it its final name. If a file of that name exists, replaces that file, or throws EEXIST
    /// if `replacing` is false. fsync, rename or link
    package consuming func keep(replacing: Bool = true) throws(SystemError) {
        let partial = path + ".partial"
        guard fsync(descriptor) == 0, (replacing ? rename(partial, path) : link(partial, path)) == 0 else {
            throw SystemError.last
        }
        if !replacing { unlink(partial) }
        isKept = true
        try Self.synchronize(folderOf: path)
    }

    /// Syncs the folder that contains a file: otherwise a power loss may remove the file's name.
    package static func synchronize(folderOf path: String) throws(SystemError) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        try OpenFile(folder, O_RDONLY | O_DIRECTORY).sync()
    }
}

/// Whether a file of any kind has this path, even a symbolic link to a missing file. lstat
private func hasName(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
}
