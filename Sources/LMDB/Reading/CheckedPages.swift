internal import Synchronization

/// The pages of a file whose checksum this process has found right. A page stays in the set when a later transaction
/// writes it: what is noticed is damage of the file from before its first reading.
final class CheckedPages: Sendable {
    // One bit per page.
    private nonisolated(unsafe) let words: UnsafeMutablePointer<Atomic<UInt64>>
    let capacity: PageNumber

    /// Creates a set of pages below a capacity, with the pages of a smaller set.
    init(capacity: PageNumber, _ smaller: CheckedPages?) {
        let wordCount = Int(capacity / 64) + 1
        self.capacity = capacity
        words = .allocate(capacity: wordCount)
        for index in 0..<wordCount {
            let known = smaller.map { index <= Int($0.capacity / 64) ? $0.words[index].load(ordering: .relaxed) : 0 }
            (words + index).initialize(to: Atomic(known ?? 0))
        }
    }

    deinit {
        words.deinitialize(count: Int(capacity / 64) + 1)
        words.deallocate()
    }

    @inline(__always)
    func contains(_ page: PageNumber) -> Bool {
        words[Int(page / 64)].load(ordering: .relaxed) & (1 << (page % 64)) != 0
    }

    func insert(_ page: PageNumber) { words[Int(page / 64)].bitwiseOr(1 << (page % 64), ordering: .relaxed) }
}
