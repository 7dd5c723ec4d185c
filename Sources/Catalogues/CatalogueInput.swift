internal import FetchIndexCLibrary

/// The input of a catalogue or a change file, which may be read more than once: a file, a pipe, or bytes in memory.
/// Files and pipes may be compressed with gzip or zstd.
///
/// Limits bound the memory that a line or row takes.
package struct CatalogueInput {
    /// The name of standard input.
    package static let standardInput = "-"

    /// The maximum number of columns, which is also the maximum number of an entity's slots.
    package static let maximumColumns = 1 << 15
    package static let longestLine = 64 << 20

    /// The file's path, or its name in errors.
    package let path: String
    /// The delimiter of CSV fields; if nil, the delimiter that a first line like `sep=;` names, otherwise a comma.
    package var delimiter: UInt8?
    /// The members that lead to the list of a JSON document whose elements are read; nil for JSON lines.
    package var listPath: [String]?
    /// The bytes to read instead of the file; nil for files and pipes.
    let bytes: [UInt8]?
    /// The bytes of a pipe; nil for a file or bytes in memory, which can be read again.
    let pipe: ReplayedBytes?
    /// The maximum length of a line without its end, in bytes. For CSV, the maximum total length of a row's values, to
    /// which its delimiters may be added.
    let longestLine: Int
    /// The maximum length of the pieces that are read, in bytes.
    let pieceLength: Int

    package init(
        _ path: String, bytes: [UInt8]? = nil, longestLine: Int = Self.longestLine, pieceLength: Int = 1 << 16
    ) {
        self.init(path, bytes, nil, longestLine, pieceLength)
    }

    private init(_ path: String, _ bytes: [UInt8]?, _ pipe: ReplayedBytes?, _ longestLine: Int, _ pieceLength: Int) {
        (self.path, self.bytes, self.pipe) = (path, bytes, pipe)
        (self.longestLine, self.pieceLength) = (longestLine, pieceLength)
    }

    /// Returns the input for a path. A pipe, or standard input for "-", is opened immediately, because it can be read
    /// only once. Throws `UnreadableFile` if that fails.
    package static func opening(_ path: String) throws -> CatalogueInput {
        if path != standardInput && isRegularOrMissing(path) { return CatalogueInput(path) }
        let name = name(of: path)
        let pipe = ReplayedBytes(try openBytes(path, mayBePipe: true).source, path: name)
        return CatalogueInput(name, nil, pipe, longestLine, 1 << 16)
    }

    /// The name of a path in errors.
    package static func name(of path: String) -> String { path == standardInput ? "standard input" : path }

    /// Whether a byte can be a delimiter: a tab, or a printable ASCII character other than a quotation mark, a letter
    /// or a digit.
    package static func canDelimit(_ byte: UInt8) -> Bool {
        byte == 0x09
            || (0x20..<0x7F).contains(byte) && byte != 0x22
                && !(0x30...0x39).contains(byte) && !(0x41...0x5A).contains(byte & 0xDF)
    }

    private static func isRegularOrMissing(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) != 0 || [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
    }

    /// Call this when no further reader will be opened. A pipe then retains no newly read bytes, and drops the retained
    /// ones when the last reader needs bytes after them.
    package func endSampling() { pipe?.endReplay() }

    /// The error for a line that exceeds the limit.
    func tooLong(_ what: String, line: Int, _ hint: String = "") -> BadInput {
        let limit = longestLine >= 1 << 20 ? "\(longestLine >> 20) MiB" : "\(longestLine) bytes"
        return BadInput(file: path, line: line, reason: "\(what) is longer than \(limit)\(hint)")
    }

    /// The error for more than `maximumColumns` fields.
    func tooWide(_ what: String, line: Int) -> BadInput {
        BadInput(file: path, line: line, reason: "\(what) has more than \(Self.maximumColumns) fields")
    }
}
