internal import FetchIndexCLibrary
internal import FetchIndexPlatform

/// The messages of one transaction of the source. Messages of a long transaction are kept in a temporary file.
package struct TransactionBuffer {
    /// A buffer that has this many bytes in memory moves them to the file.
    package static let mostBytes = 8 << 20

    private let folder: String
    private let mostBytes: Int
    /// The last messages, each after its length in 4 bytes. Earlier messages are in the file.
    private var bytes: [UInt8] = []
    private var file: TemporaryFile?
    /// The number of messages. It limits a group of transactions.
    package private(set) var count = 0
    /// The number of the messages' bytes, with 4 more for each message. It limits a group of transactions, too.
    package private(set) var byteCount = 0

    package init(folder: String, mostBytes: Int = Self.mostBytes) {
        (self.folder, self.mostBytes) = (folder, mostBytes)
    }

    package mutating func append(_ message: UnsafeRawBufferPointer) throws {
        bytes.appendNumber(UInt32(message.count))
        bytes.append(contentsOf: message)
        count += 1
        byteCount += 4 + message.count
        guard bytes.count >= mostBytes else { return }
        do {
            let file = try file ?? TemporaryFile(inFolder: folder, prefix: "follow")
            self.file = file
            try bytes.withUnsafeBytes { try file.append($0) }
        } catch let error as SystemError {
            throw SourceError(
                .refused,
                "a transaction of the source is too long for its buffer in memory, and its temporary file cannot be written: \(error); nothing "
                    + "of the transaction was saved")
        }
        bytes.removeAll(keepingCapacity: true)
    }

    /// Hands out the messages in order. O(bytes). The memory that it needs is bounded, unless a single message is
    /// large.
    package func forEach(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        if let file {
            var offset = 0
            var part: [UInt8] = []
            while offset < file.length {
                // Each part begins with the length of a message. If the part lacks the message's end, the whole message
                // is read again.
                part = try Self.read(file, offset, max(mostBytes, 4))
                let length = Self.length(part, 0)
                if 4 + length > part.count { part = try Self.read(file, offset, 4 + length) }
                offset += try Self.forEach(in: part, body)
            }
        }
        _ = try Self.forEach(in: bytes, body)
    }

    private static func read(_ file: TemporaryFile, _ offset: Int, _ length: Int) throws -> [UInt8] {
        let length = min(length, file.length - offset)
        var part = [UInt8](repeating: 0, count: length)
        var done = 0
        while done < length {
            let count = try part.withUnsafeMutableBytes { buffer in
                try file.read(at: offset + done, into: UnsafeMutableRawBufferPointer(rebasing: buffer[done...]))
            }
            guard count > 0 else { throw SystemError(rawValue: EIO) }
            done += count
        }
        return part
    }

    private static func length(_ bytes: [UInt8], _ place: Int) -> Int {
        let span = bytes.span.bytes
        return Int(span.unsafeLoadUnaligned(fromByteOffset: place, as: UInt32.self).littleEndian)
    }

    /// Hands out the complete messages at the beginning of some bytes, and returns their total length.
    private static func forEach(in bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Int {
        var place = 0
        while place + 4 <= bytes.count {
            let length = Self.length(bytes, place)
            guard place + 4 + length <= bytes.count else { break }
            try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[place + 4..<place + 4 + length])) }
            place += 4 + length
        }
        return place
    }
}
