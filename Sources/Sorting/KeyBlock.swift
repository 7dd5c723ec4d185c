internal import Bytes

/// Keys that go from one thread to another together.
struct KeyBlock {
    private static let length = 1 << 18

    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    init() {
        bytes.reserveCapacity(Self.length + 1024)
    }

    var isFull: Bool { bytes.count >= Self.length }

    mutating func append(_ key: RawSpan) {
        bytes.appendBytes(key)
        ends.append(bytes.count)
    }

    /// The block, which begins anew.
    mutating func take() -> KeyBlock {
        var taken = KeyBlock()
        swap(&self, &taken)
        return taken
    }

    func forEach(_ body: (RawSpan) throws -> Void) throws {
        var start = 0
        for end in ends {
            try body(bytes.span.bytes.extracting(start..<end))
            start = end
        }
    }
}
