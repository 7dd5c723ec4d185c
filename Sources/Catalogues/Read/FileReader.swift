internal import SystemBasics

/// Reads a file, decompressed, in pieces. The byte-order mark of UTF-8 at its start is passed over; UTF-16 is refused.
package final class FileReader {
    let path: String
    /// Of the file as it is stored; 0 where that is not known.
    package let length: Int
    private let input: CatalogueInput
    private var bytePosition = 0
    /// Nil where bytes stand for the file.
    private let source: (any ByteSource)?
    private var buffer: [UInt8]

    package init(_ input: CatalogueInput) throws {
        self.input = input
        path = input.path
        let opened: any ByteSource
        if let bytes = input.bytes {
            (source, length, buffer) = (nil, bytes.count, [])
            try skipByteOrderMark([UInt8](bytes.prefix(3)))
            return
        } else if let pipe = input.pipe {
            (opened, length) = (ReplayedBytes.Reader(pipe), 0)
        } else {
            (opened, length) = try openBytes(path, mayBePipe: false)
        }
        let first = try opened.read(upTo: 3)
        source = PeekedSource(first == Self.byteOrderMark ? [] : first, before: opened)
        buffer = [UInt8](repeating: 0, count: max(input.pieceLength, 1))
        try skipByteOrderMark(first)
    }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private func skipByteOrderMark(_ first: [UInt8]) throws {
        if first == Self.byteOrderMark {
            bytePosition = 3
        } else if first.starts(with: [0xFF, 0xFE]) || first.starts(with: [0xFE, 0xFF]) {
            throw UnreadableFile(path: path, reason: "is in UTF-16 by its byte-order mark; convert it to UTF-8 first")
        }
    }

    /// Bytes of the file that were read so far.
    package var position: Int { source?.position ?? bytePosition }

    /// Hands out the next piece; false at the end of the file.
    package func readPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        if let bytes = input.bytes {
            let start = bytePosition
            bytePosition = min(start + max(input.pieceLength, 1), bytes.count)
            if start == bytePosition { return false }
            try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[start..<bytePosition])) }
            return true
        }
        return try buffer.withUnsafeMutableBytes { buffer in
            guard let count = try source?.read(into: buffer), count > 0 else { return false }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            return true
        }
    }
}
