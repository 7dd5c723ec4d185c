internal import CFetchIndexZstd

/// Zstandard data (RFC 8878), decompressed by libzstd; it may consist of several frames.
final class ZstdSource: ByteSource {
    /// Whether four bytes are the beginning of a frame or of a skippable frame.
    static func begins(_ first: [UInt8]) -> Bool {
        first == [0x28, 0xB5, 0x2F, 0xFD]
            || first.count == 4 && first[0] & 0xF0 == 0x50 && first[1...] == [0x2A, 0x4D, 0x18]
    }

    private let source: any ByteSource
    private let path: String
    private let context: OpaquePointer
    private let input: UnsafeMutableRawBufferPointer
    private var filled = 0
    private var used = 0
    private var isBetweenFrames = true

    init(_ source: any ByteSource, path: String) throws {
        guard let context = ZSTD_createDCtx() else {
            throw UnreadableFile(path: path, reason: "cannot be read: zstd has no memory")
        }
        (self.source, self.path, self.context) = (source, path, context)
        input = .allocate(byteCount: ZSTD_DStreamInSize(), alignment: 1)
    }

    deinit {
        ZSTD_freeDCtx(context)
        input.deallocate()
    }

    var position: Int { source.position }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
        while output.pos == 0 && output.size > 0 {
            if used == filled {
                filled = try source.read(into: input)
                used = 0
                if filled == 0 {
                    guard isBetweenFrames else { throw UnreadableFile(path: path, reason: "ends within its zstd data") }
                    return 0
                }
            }
            var piece = ZSTD_inBuffer(src: input.baseAddress, size: filled, pos: used)
            let status = ZSTD_decompressStream(context, &output, &piece)
            used = piece.pos
            if ZSTD_isError(status) != 0 {
                let reason = String(cString: ZSTD_getErrorName(status))
                throw UnreadableFile(
                    path: path, reason: "has damaged zstd data before byte \(source.position): \(reason)")
            }
            isBetweenFrames = status == 0
        }
        return output.pos
    }
}
