internal import CFetchIndexZlib

/// Data compressed by DEFLATE (RFC 1951), without a header.
enum Deflated {
    /// The greatest length of unpacked data. Models are some hundred kilobytes.
    private static let greatestLength = 64 << 20

    /// Unpacks data; nil if it's damaged or would be too long.
    static func unpack(_ packed: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        // A negative number of bits is for data without a header.
        guard inflateInit2_(&stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        var packed = packed
        var unpacked: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        let isWhole = packed.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(clamping: input.count)
            while unpacked.count <= greatestLength {
                let status = piece.withUnsafeMutableBufferPointer { output in
                    stream.next_out = output.baseAddress
                    stream.avail_out = UInt32(output.count)
                    return inflate(&stream, Z_NO_FLUSH)
                }
                let count = piece.count - Int(stream.avail_out)
                unpacked += piece[..<count]
                if status == Z_STREAM_END { return true }
                if status != Z_OK || count == 0 { return false }
            }
            return false
        }
        return isWhole ? unpacked : nil
    }
}
