internal import FetchIndexCLibrary
internal import FetchIndexPlatform

/// The data file of an environment, read with pread instead of through LMDB's map. If the file is too short, reading a
/// missing page through the map would kill the process (SIGBUS).
package struct DataFile: ~Copyable {
    private let file: OpenFile

    /// Opens the file. Returns nil if it's missing. Doesn't follow a symbolic link, and doesn't wait if it's a pipe.
    init?(inFolder path: String) throws { try self.init(at: EnvironmentFiles.data(in: path)) }

    /// The file that a descriptor, which stays open, has open.
    init(ofOpen descriptor: CInt) throws { file = try OpenFile(duplicating: descriptor) }

    /// Opens the file like `init(inFolder:)`, by its own path.
    init?(at path: String) throws {
        do { file = try OpenFile(path, O_RDONLY | O_NONBLOCK) } catch {
            if error.rawValue == ENOENT { return nil }
            throw error
        }
    }

    var descriptor: CInt { file.descriptor }

    /// The file's current length in bytes.
    func length() throws -> Int {
        var status = stat()
        guard fstat(file.descriptor, &status) == 0 else { throw SystemError.last }
        return Int(status.st_size)
    }

    /// Reads `count` bytes starting at an offset, or fewer if the file ends earlier. pread
    func bytes(at offset: Int, count: Int) throws -> [UInt8] {
        var code: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count, let start = buffer.baseAddress {
                let length = pread(file.descriptor, start + filled, count - filled, off_t(offset + filled))
                if length < 0 && errno == EINTR { continue }
                if length < 0 { code = errno }
                if length <= 0 { return }
                filled += length
            }
        }
        guard code == 0 else { throw SystemError(rawValue: code) }
        return bytes
    }
}

/// A reason why LMDB can't safely use an environment's files.
package enum DataFileError: Error, Equatable {
    /// A file or folder in the environment's folder doesn't look like LMDB's, or the file has an unknown version.
    case foreign(String)
    /// The data file has the layout of another LMDB than the linked one, which can't read it.
    case otherVersion(PageLayout)
    /// The library that runs isn't the one that the program was built for.
    case otherLibrary(String)
    /// The files can't be used as they are, for example because one is cut off.
    case damaged(String)
}

extension DataFileError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .foreign(let sentence), .otherLibrary(let sentence), .damaged(let sentence): sentence
        case .otherVersion(let found):
            "its data.mdb has data version \(found.rawValue) of \(found.releases), but this program uses LMDB "
                + "\(LinkedLMDB.version), which writes version \(PageLayout.linked.rawValue)"
        }
    }
}
