internal import FetchIndexPlatform

/// Merges sorted keys, in memory and in runs on disk, into one sequence. A binary heap holds the next key of each
/// source.
enum KeyMerger {
    /// Sorted keys, in memory or in a run, and the next one of these keys.
    final class Source {
        private enum Keys {
            case memory(UnsafeBufferPointer<KeySorter.Entry>, UnsafeRawBufferPointer)
            case run(RunReader)
        }

        private let keys: Keys
        private var next = 0
        /// The sum of prefetched bytes. Computing it keeps the compiler from removing the prefetches.
        private var touched: UInt8 = 0
        private static let lookahead = 8
        fileprivate private(set) var key = UnsafeRawBufferPointer(start: nil, count: 0)

        /// A source of keys in memory. The memory must outlive the source.
        init(memory entries: UnsafeBufferPointer<KeySorter.Entry>, of keys: UnsafeRawBufferPointer) {
            self.keys = .memory(entries, keys)
        }

        init(run: SortedRun, bufferLength: Int) { keys = .run(RunReader(run, bufferLength: bufferLength)) }

        /// Advances to the next key. Returns false at the end.
        fileprivate func advance() throws -> Bool {
            switch keys {
            case .memory(let entries, let keys):
                guard next < entries.count else { return false }
                key = MultikeyQuicksort.key(of: entries[next], in: keys)
                // Prefetches a later key, so that cache misses overlap: sorted keys are scattered in memory.
                if next + Self.lookahead < entries.count {
                    let offset = entries[next + Self.lookahead].offset
                    touched &+= keys[offset] &+ keys[min(offset + 64, keys.count - 1)]
                }
                next += 1
                return true
            case .run(let reader):
                guard let found = try reader.next() else { return false }
                key = found
                return true
            }
        }
    }

    /// A source and a copy of its next key. Because of the copy, comparisons don't follow references.
    private struct Head {
        var key: UnsafeRawBufferPointer
        let source: Unmanaged<Source>

        func isLess(than other: Head) -> Bool { key.bytes.compare(other.key.bytes) < 0 }
    }

    /// Calls the body with the least keys of all sources, in order, until it has got `first` keys. O(k log sources) for
    /// k keys.
    static func merge(_ sources: [Source], first: Int, _ body: (RawSpan) throws -> Void) throws {
        try withExtendedLifetime(sources) {
            var heap: [Head] = []
            for source in sources where try source.advance() {
                heap.append(Head(key: source.key, source: .passUnretained(source)))
            }
            for index in stride(from: heap.count / 2, through: 0, by: -1) { siftDown(index, in: &heap) }
            var left = first
            while left > 0, let least = heap.first {
                left -= 1
                try body(least.key.bytes)
                let source = least.source
                if try source._withUnsafeGuaranteedRef({ try $0.advance() }) {
                    heap[0].key = source._withUnsafeGuaranteedRef { $0.key }
                } else {
                    heap.swapAt(0, heap.count - 1)
                    heap.removeLast()
                }
                siftDown(0, in: &heap)
            }
        }
    }

    private static func siftDown(_ index: Int, in heap: inout [Head]) {
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

/// Reads a run's keys in order.
private final class RunReader {
    private let run: SortedRun
    private var buffer: UnsafeMutableRawBufferPointer
    private var offset = 0  // the buffer's offset in the run
    private var filled = 0
    private var position = 0  // the next key's offset in the buffer

    init(_ run: SortedRun, bufferLength: Int) {
        self.run = run
        buffer = .allocate(byteCount: bufferLength, alignment: 8)
    }

    deinit { buffer.deallocate() }

    /// Returns the next key, which is valid until the next call; nil at the end.
    func next() throws -> UnsafeRawBufferPointer? {
        let start = SortedRun.prefixLength
        guard offset + position < run.length else { return nil }
        guard try fill(start) else { throw SortingError.fileDamaged }
        let length = Int(number(at: position))
        guard length <= run.length - offset - position - start, try fill(start + length) else {
            throw SortingError.fileDamaged
        }
        let checksum = number(at: position + 4)
        let key = UnsafeRawBufferPointer(rebasing: buffer[position + start..<position + start + length])
        position += start + length
        guard key.bytes.checksum == checksum else { throw SortingError.fileDamaged }
        return key
    }

    private func number(at index: Int) -> UInt32 { buffer.loadUnaligned(fromByteOffset: index, as: UInt32.self) }

    /// Ensures that the buffer holds `count` bytes, beginning at `position`. Returns false if the run has fewer.
    private func fill(_ count: Int) throws -> Bool {
        if position + count <= filled { return true }
        offset += position
        filled = 0
        position = 0
        if buffer.count < count {
            buffer.deallocate()
            buffer = .allocate(byteCount: count, alignment: 8)
        }
        while filled < count {
            let read = try run.read(
                at: offset + filled, into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
            if read == 0 { return false }
            filled += read
        }
        return true
    }
}
