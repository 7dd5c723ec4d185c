/// Writes the bytes of cells one after the other.
struct ByteOutput {
    private let bytes: UnsafeMutableRawBufferPointer
    private(set) var offset: Int

    init(_ bytes: UnsafeMutableRawBufferPointer, from offset: Int) {
        self.bytes = bytes
        self.offset = offset
    }

    @inline(__always)
    mutating func append(_ source: UnsafeRawBufferPointer, _ range: Range<Int>) {
        UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<offset + range.count]).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: source[range]))
        offset += range.count
    }

    mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { append($0, 0..<$0.count) }
    }

    /// Writes how many bytes a key shares with its base.
    @inline(__always)
    mutating func append(shared length: Int) {
        if NodeLayout.fieldLength(ofShared: length) == 1 {
            bytes[offset] = UInt8(length)
        } else {
            bytes[offset] = NodeLayout.longSharedMark
            bytes.storeBytes(of: UInt16(length).littleEndian, toByteOffset: offset + 1, as: UInt16.self)
        }
        offset += NodeLayout.fieldLength(ofShared: length)
    }
}
