internal import FetchIndexPlatform

/// A batch of keys of up to about 256 KiB, for example to pass to another thread.
package struct KeyBlock {
    private static let length = 1 << 18

    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    package init() {
        bytes.reserveCapacity(Self.length + 1024)
    }

    package var isFull: Bool { bytes.count >= Self.length }

    package var count: Int { ends.count }

    package subscript(index: Int) -> RawSpan {
        @_lifetime(borrow self)
        borrowing get { bytes.span.bytes.extracting((index == 0 ? 0 : ends[index - 1])..<ends[index]) }
    }

    package mutating func append(_ key: RawSpan) {
        bytes.appendBytes(key)
        ends.append(bytes.count)
    }

    /// Returns the keys, and empties the block.
    package mutating func take() -> KeyBlock {
        var taken = KeyBlock()
        swap(&self, &taken)
        return taken
    }

    package func forEach(_ body: (RawSpan) throws -> Void) throws {
        for index in 0..<count { try body(self[index]) }
    }
}
