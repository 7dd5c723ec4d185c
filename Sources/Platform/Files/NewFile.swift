internal import FetchIndexCLibrary

/// A file that gets its name when it's complete. Until `keep` its name is PATH.partial, and it's removed with this
/// value. If the process dies, the next writer of the path replaces it.
package struct NewFile: ~Copyable {
    /// Who may read and write the file.
    package enum Access {
        case ownerOnly
        /// The file is open to whom the umask allows.
        case byUmask
    }

    package let path: String
    package let descriptor: CInt
    private let place: UnfinishedFiles.Place?
    private var isKept = false

    /// Throws EBUSY if another process is writing a file of this path.
    package init(at path: String, _ access: Access = .ownerOnly) throws(SystemError) {
        let partial = path + ".partial"
        // A signal that comes while the file is created is handled when the file has been noted.
        let held = UnfinishedFiles.holdSignals()
        defer { UnfinishedFiles.release(held) }
        let opened: CInt
        switch access {
        case .ownerOnly:
            opened = try Self.locked(partial)
            guard fchmod(opened, 0o600) == 0, ftruncate(opened, 0) == 0 else { throw Self.closing(opened, errno) }
        case .byUmask:
            // The umask applies to created files only, so a file that a killed process left is removed first.
            if hasName(partial) { close(try Self.locked(partial, removing: true)) }
            opened = try Self.locked(partial, O_EXCL, 0o666)
        }
        self.path = path
        descriptor = opened
        place = UnfinishedFiles.add(partial)
    }

    /// Opens or creates the file, and locks it.
    private static func locked(
        _ partial: String, _ flags: CInt = 0, _ mode: UInt16 = 0o600, removing: Bool = false
    ) throws(SystemError) -> CInt {
        let opened = Descriptors.open(partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, mode)
        guard opened >= 0 else { throw errno == EEXIST ? .busy : .last }
        if flock(opened, LOCK_EX | LOCK_NB) != 0 { throw closing(opened, errno == EWOULDBLOCK ? EBUSY : errno) }
        // Otherwise the process that held the lock has just given the file its name.
        guard isOnlyName(partial, of: opened) else { throw closing(opened, EBUSY) }
        if removing, unlink(partial) != 0 { throw closing(opened, errno) }
        return opened
    }

    private static func closing(_ file: CInt, _ code: CInt) -> SystemError {
        close(file)
        return SystemError(rawValue: code)
    }

    /// Whether a path names the open file, and that is a regular file without another name.
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

    /// Removes the file that a process left when it died while writing to this path. A file that is being written
    /// stays.
    package static func removeLeftover(of path: String) {
        guard hasName(path + ".partial") else { return }
        // The file is removed with this value.
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

    /// Syncs the file and gives it its name. Replaces a file of that name, or throws EEXIST if it must not. fsync,
    /// rename or link
    package consuming func keep(replacing: Bool = true) throws(SystemError) {
        let partial = path + ".partial"
        guard fsync(descriptor) == 0, (replacing ? rename(partial, path) : link(partial, path)) == 0 else {
            throw SystemError.last
        }
        if !replacing { unlink(partial) }
        isKept = true
        try Self.synchronize(folderOf: path)
    }

    /// Syncs the folder of a file, without which the file's name isn't on the disk.
    package static func synchronize(folderOf path: String) throws(SystemError) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        try OpenFile(folder, O_RDONLY | O_DIRECTORY).sync()
    }
}

/// Whether a path names anything, even a link that leads nowhere. lstat
private func hasName(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
}
