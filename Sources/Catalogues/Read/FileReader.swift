internal import SystemBasics

/// Reads a file, decompressed, in pieces. The byte-order mark of UTF-8 at its start is passed over; UTF-16 is refused.
package final class FileReader {
    let path: String
    /// Of the file as it is stored; 0 where that is not known.
    package let length: Int
    private let input: CatalogueInput
    /// Bytes of the file that were handed out so far.
    package private(set) var position = 0
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
            position = 3
        } else if first.starts(with: [0xFF, 0xFE]) || first.starts(with: [0xFE, 0xFF]) {
            throw UnreadableFile(path: path, reason: "is in UTF-16 by its byte-order mark; convert it to UTF-8 first")
        }
    }

    /// Hands out the next piece; false at the end of the file.
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

    /// Hands out the pieces that are left; of a file that is read ahead, while another thread reads the next ones.
    func forEachPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        // A pipe may have nothing to read for long: an error in a row must not wait for that.
        guard input.readsAhead, let source, input.pipe == nil, length > Self.lengthAhead else {
            while try readPiece(body) {}
            return
        }
        try Threads.pipe(2, capacity: Self.mostAhead) { deliver in
            while true {
                let bytes = try [UInt8](unsafeUninitializedCapacity: Self.lengthAhead) { buffer, count in
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

    /// Bytes of a piece that is read ahead, and how many such pieces wait.
    private static let lengthAhead = 1 << 18
    private static let mostAhead = 4
}
