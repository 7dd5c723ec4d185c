internal import CFetchIndexZlib

/// Gzip data (RFC 1952), decompressed by zlib; it may consist of several members.
final class GzipSource: ByteSource {
    static let magic: [UInt8] = [0x1F, 0x8B]

    private let source: any ByteSource
    private let path: String
    private let stream: UnsafeMutablePointer<z_stream>
    private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 1)
    /// Whether the last member is complete.
    private var isBetweenMembers = true

    init(_ source: any ByteSource, path: String) throws {
        (self.source, self.path) = (source, path)
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // The largest window, and only the gzip format.
        let status = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else { throw damaged("zlib cannot begin") }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        input.deallocate()
    }

    var position: Int { source.position }

    private func damaged(_ reason: String) -> UnreadableFile {
        UnreadableFile(path: path, reason: "has damaged gzip data before byte \(source.position): \(reason)")
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(clamping: buffer.count)
        let wanted = stream.pointee.avail_out
        while stream.pointee.avail_out == wanted {
            if stream.pointee.avail_in == 0 {
                let count = try source.read(into: input)
                if count == 0 {
                    guard isBetweenMembers else {
                        throw UnreadableFile(path: path, reason: "ends within its gzip data")
                    }
                    return 0
                }
                stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_in = UInt32(count)
            }
            isBetweenMembers = false
            switch inflate(stream, Z_NO_FLUSH) {
            case Z_OK, Z_BUF_ERROR: break
            case Z_STREAM_END:
                isBetweenMembers = true
                // The output of this member is returned first; the next member begins with the rest of the input.
                inflateReset(stream)
            default: throw damaged(stream.pointee.msg.map { String(cString: $0) } ?? "zlib gives no reason")
            }
        }
        return Int(wanted - stream.pointee.avail_out)
    }
}
