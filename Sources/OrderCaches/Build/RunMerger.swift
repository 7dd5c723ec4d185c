internal import Models
internal import Bytes

/// Merges sorted runs into one sequence with a binary heap of their next keys.
struct RunMerger {
    /// A run and its next key.
    private final class Source {
        private let run: SortedRun
        private var buffer: [UInt8]
        private var offset = 0  // of the buffer in the run
        private var filled = 0
        private var next = 0  // in the buffer
        private(set) var key = 0..<0

        init(_ run: SortedRun, bufferLength: Int) {
            self.run = run
            buffer = [UInt8](repeating: 0, count: bufferLength)
        }

        var bytes: ArraySlice<UInt8> { buffer[key] }

        /// Moves to the next key. False at the end.
        func advance() throws -> Bool {
            let start = SortedRun.prefixLength
            guard offset + next < run.length else { return false }
            guard try fill(start) else { throw StoreError.temporaryFileDamaged }
            let length = Int(number(at: next))
            guard length <= run.length - offset - next - start, try fill(start + length) else {
                throw StoreError.temporaryFileDamaged
            }
            let checksum = number(at: next + 4)
            key = next + start..<next + start + length
            next = key.upperBound
            guard bytes.withUnsafeBytes({ $0.bytes.checksum }) == checksum else {
                throw StoreError.temporaryFileDamaged
            }
            return true
        }

        private func number(at index: Int) -> UInt32 {
            buffer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: index, as: UInt32.self) }
        }

        /// Ensures that the buffer holds `count` bytes from `next` on. False at the end of the run.
        private func fill(_ count: Int) throws -> Bool {
            if next + count <= filled { return true }
            offset += next
            filled = 0
            next = 0
            if buffer.count < count { buffer = [UInt8](repeating: 0, count: count) }
            while filled < count {
                let read = try buffer.withUnsafeMutableBytes { bytes in
                    try run.read(at: offset + filled, into: UnsafeMutableRawBufferPointer(rebasing: bytes[filled...]))
                }
                if read == 0 { return false }
                filled += read
            }
            return true
        }

        func isLess(than other: Source) -> Bool {
            bytes.withUnsafeBytes { left in other.bytes.withUnsafeBytes { left.bytes.compare($0.bytes) < 0 } }
        }
    }

    /// Hands out the keys of all runs in order. O(n log runs).
    static func merge(_ runs: [SortedRun], bufferLength: Int, _ body: (RawSpan) throws -> Void) throws {
        var heap = try runs.map { Source($0, bufferLength: bufferLength) }.filter { try $0.advance() }
        for index in stride(from: heap.count / 2, through: 0, by: -1) { siftDown(index, in: &heap) }
        while let least = heap.first {
            try least.bytes.withUnsafeBytes { try body($0.bytes) }
            if try !least.advance() {
                heap.swapAt(0, heap.count - 1)
                heap.removeLast()
            }
            siftDown(0, in: &heap)
        }
    }

    private static func siftDown(_ index: Int, in heap: inout [Source]) {
        var index = index
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && heap[child].isLess(than: heap[least]) {
                least = child
            }
            if least == index { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
