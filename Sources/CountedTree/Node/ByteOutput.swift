/// Writes the bytes of cells one after the other. The caller must make sure that they fit.
struct ByteOutput {
    private let bytes: UnsafeMutableRawPointer
    private(set) var offset: Int

    init(_ bytes: UnsafeMutableRawPointer, from offset: Int) {
        self.bytes = bytes
        self.offset = offset
    }

    @inline(__always)
    mutating func append(_ source: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(start: bytes + offset, count: source.count).copyMemory(from: source)
        offset &+= source.count
    }

    /// Appends a few bytes by copying whole words. The source and the output must be followed by padding.
    @inline(__always)
    mutating func append(_ count: Int, padded source: UnsafeRawPointer) {
        PaddedBytes.copy(count, from: source, to: bytes + offset)
        offset &+= count
    }

    mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { append($0) }
    }

    /// Appends the field of a shared length: the number of bytes that a key shares with its base (`NodeLayout`).
    mutating func append(shared length: Int) {
        if NodeLayout.fieldLength(ofShared: length) == 1 { return append(shortShared: length) }
        append(NodeLayout.longSharedMark)
        append(UInt16(truncatingIfNeeded: length))
    }

    /// Appends the field of a shared length of less than 255, which has one byte.
    @inline(__always)
    mutating func append(shortShared length: Int) {
        (bytes + offset).storeBytes(of: UInt8(truncatingIfNeeded: length), as: UInt8.self)
        offset &+= 1
    }
}
