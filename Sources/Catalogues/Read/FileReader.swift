internal import FetchIndexPlatform

/// Reads an input in pieces, and decompresses files and pipes. A UTF-8 byte-order mark at the start is skipped; an
/// input with a UTF-16 byte-order mark is refused.
package final class FileReader {
    let path: String
    /// The length of the stored file in bytes; 0 if it is unknown.
    package let length: Int
    private let input: CatalogueInput
    /// The number of the file's bytes that were read for the pieces so far.
    package private(set) var position = 0
    /// See `RowSource`.
    var decompressesAhead = false
    private let isCompressedFile: Bool
    /// The source; nil if the input is bytes in memory.
    private let source: (any ByteSource)?
    private var buffer: [UInt8]

    package init(_ input: CatalogueInput) throws {
        self.input = input
        path = input.path
        let opened: any ByteSource
        if let bytes = input.bytes {
            (source, length, buffer, isCompressedFile) = (nil, bytes.count, [], false)
            try skipByteOrderMark([UInt8](bytes.prefix(3)))
            return
        } else if let pipe = input.pipe {
            (opened, length, isCompressedFile) = (ReplayedBytes.Reader(pipe), 0, false)
        } else {
            (opened, length) = try openBytes(path, mayBePipe: false)
            isCompressedFile = opened is GzipSource || opened is ZstdSource
        }
        let first = try opened.read(upTo: 3)
        source = PeekedSource(first == Self.byteOrderMark ? [] : first, before: opened)
        buffer = [UInt8](repeating: 0, count: max(input.pieceLength, 1))
        try skipByteOrderMark(first)
    }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private func skipByteOrderMark(_ first: [UInt8]) throws {
        if first == Self.byteOrderMark {
            position = 3
        } else if first.starts(with: [0xFF, 0xFE]) || first.starts(with: [0xFE, 0xFF]) {
            throw UnreadableFile(path: path, reason: "is in UTF-16 by its byte-order mark; convert it to UTF-8 first")
        }
    }

    /// Passes the next piece to the body. Returns false at the end of the file.
    package func readPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        if let bytes = input.bytes {
            let start = position
            position = min(start + max(input.pieceLength, 1), bytes.count)
            if start == position { return false }
            try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[start..<position])) }
            return true
        }
        guard let source else { return false }
        return try buffer.withUnsafeMutableBytes { buffer in
            let count = try source.read(into: buffer)
            guard count > 0 else { return false }
            position = source.position
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            return true
        }
    }

    /// Passes the remaining pieces to the body.
    func forEachPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        // Reading an uncompressed file costs less than passing its bytes to another thread.
        guard decompressesAhead, isCompressedFile, let source else {
            while try readPiece(body) {}
            return
        }
        let length = buffer.count
        try Threads.pipe(2, capacity: Self.mostAhead) { deliver in
            while true {
                let bytes = try [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
                    count = try source.read(into: UnsafeMutableRawBufferPointer(buffer))
                }
                if bytes.isEmpty { return }
                try deliver((bytes, end: source.position))
            }
        } consume: { (piece: (bytes: [UInt8], end: Int)) in
            position = piece.end
            try piece.bytes.withUnsafeBytes(body)
        }
    }

    /// The maximum number of decompressed pieces that wait.
    private static let mostAhead = 16
}
