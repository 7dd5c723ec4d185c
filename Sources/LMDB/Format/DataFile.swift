internal import FetchIndexCLibrary
internal import FetchIndexPlatform

/// The data file of an environment, read with pread instead of through LMDB's map. If the file is too short, reading a
/// missing page through the map would kill the process (SIGBUS).
package struct DataFile: ~Copyable {
    private let file: OpenFile

    /// Opens the file. Returns nil if it's missing. Doesn't follow a symbolic link, and doesn't wait if it's a pipe.
    init?(inFolder path: String) throws {
        do { file = try OpenFile(path + "/data.mdb", O_RDONLY | O_NONBLOCK) } catch {
            if error.rawValue == ENOENT { return nil }
            throw error
        }
    }

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
    /// A file or folder in the environment's folder doesn't look like LMDB's, or a file has the format of another LMDB
    /// version.
    case foreign(String)
    /// The files can't be used as they are, for example because one is cut off.
    case damaged(String)
}

extension DataFileError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .foreign(let sentence), .damaged(let sentence): sentence
        }
    }
}
