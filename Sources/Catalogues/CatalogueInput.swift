internal import FetchIndexPlatform

/// What a catalogue or a change file is read from, once or more: a file, a pipe, or bytes that stand for one. Files and pipes
/// may be compressed by gzip or zstd.
///
/// Memory for reading is bounded by the limits, whatever the bytes are.
package struct CatalogueInput {
    /// The name of standard input.
    package static let standardInput = "-"

    /// The attributes that an entity may have.
    package static let maximumColumns = 1 << 15
    package static let longestLine = 64 << 20

    /// The file, and what errors call it.
    package let path: String
    /// What separates the fields of CSV. Nil: a comma, or what a first line as `sep=;` says.
    package var delimiter: UInt8?
    /// Nil: the file's.
    let bytes: [UInt8]?
    /// The bytes of a pipe; nil for a file, which can be opened again.
    let pipe: ReplayedBytes?
    /// Bytes that a line may have without its end; of CSV, a row's values together.
    let longestLine: Int
    /// Bytes that are handed out at a time.
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

    /// A file, or what can be read only once: a pipe, or standard input for "-". Throws `UnreadableFile`.
    package static func opening(_ path: String) throws -> CatalogueInput {
        if path != standardInput && isRegularOrMissing(path) { return CatalogueInput(path) }
        let name = path == standardInput ? "standard input" : path
        let pipe = ReplayedBytes(try openBytes(path, mayBePipe: true).source, path: name)
        return CatalogueInput(name, nil, pipe, longestLine, 1 << 16)
    }

    /// Neither a quotation mark, nor a line end, nor what texts are made of.
    package static func canDelimit(_ byte: UInt8) -> Bool {
        byte == 0x09
            || (0x20..<0x7F).contains(byte) && byte != 0x22
                && !(0x30...0x39).contains(byte) && !(0x41...0x5A).contains(byte & 0xDF)
    }

    private static func isRegularOrMissing(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) != 0 || [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
    }

    /// Ends the reading of the beginning by several readers: the first bytes of a pipe need not be kept any longer.
    package func endSampling() { pipe?.endReplay() }

    /// The error of a line that is longer than it may be.
    func tooLong(_ what: String, line: Int, _ hint: String = "") -> BadInput {
        let limit = longestLine >= 1 << 20 ? "\(longestLine >> 20) MiB" : "\(longestLine) bytes"
        return BadInput(file: path, line: line, reason: "\(what) is longer than \(limit)\(hint)")
    }

    /// The error of a row that has more fields than an entity can have attributes.
    func tooWide(_ what: String, line: Int) -> BadInput {
        BadInput(file: path, line: line, reason: "\(what) has more than \(Self.maximumColumns) fields")
    }
}
