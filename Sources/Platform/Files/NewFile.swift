/// A file that gets its name when it is complete. Until `keep` it is PATH.partial, which is removed with this value; when
/// the process dies, the next writer of the path replaces it.
package struct NewFile: ~Copyable {
    /// Who may read and write it.
    package enum Access {
        case ownerOnly
        /// Whom the umask allows it.
        case byUmask
    }

    package let path: String
    package let descriptor: CInt
    private let place: UnfinishedFiles.Place?
    private var isKept = false

    /// Throws EBUSY when another process is writing a file of this path.
    package init(at path: String, _ access: Access = .ownerOnly) throws(SystemError) {
        let partial = path + ".partial"
        // One that comes while the file is made is handled when it is noted.
        let held = UnfinishedFiles.holdSignals()
        defer { UnfinishedFiles.release(held) }
        let opened: CInt
        switch access {
        case .ownerOnly:
            opened = try Self.locked(partial)
            guard fchmod(opened, 0o600) == 0, ftruncate(opened, 0) == 0 else { throw Self.closing(opened, errno) }
        case .byUmask:
            // The umask is for files that are made, so what a killed process left makes room.
            if hasName(partial) { close(try Self.locked(partial, removing: true)) }
            opened = try Self.locked(partial, O_EXCL, 0o666)
        }
        self.path = path
        descriptor = opened
        place = UnfinishedFiles.add(partial)
    }

    /// Opens or makes the file, and locks it.
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
        if let place { UnfinishedFiles.remove(place) }
        close(descriptor)
    }

    /// Removes what a process left of a file of this path that died while it wrote it. What is being written stays.
    package static func removeLeftover(of path: String) {
        guard hasName(path + ".partial") else { return }
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

/// Also of a link that leads nowhere. lstat
private func hasName(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
}

#if canImport(Glibc)
    private let systemWrite = Glibc.write
#else
    private let systemWrite = Darwin.write
#endif
