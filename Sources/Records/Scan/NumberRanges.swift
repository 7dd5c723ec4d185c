internal import FetchIndexValues

/// The numbers of an entity's objects that a scan reads: all from one on, except those of some zones.
package struct NumberRanges: Sendable {
    struct Skipped: Sendable {
        let numbers: Range<UInt64>
        /// How many objects have them.
        let count: UInt64
    }

    /// The first number that is read. Behind it no object was deleted, unless it is 0.
    let start: UInt64
    /// Ascending.
    private let skipped: [Skipped]

    package static let all = NumberRanges()

    init(from start: UInt64 = 0, skipping skipped: [Skipped] = []) { (self.start, self.skipped) = (start, skipped) }

    var areAll: Bool { skipped.isEmpty && start == 0 }

    /// How many objects have numbers that are not read.
    package var skippedCount: UInt64 { skipped.reduce(0) { $0 &+ $1.count } }

    /// Those in a range, ascending.
    func within(_ bounds: Range<UInt64>) -> [Range<UInt64>] {
        var ranges: [Range<UInt64>] = []
        var start = min(max(bounds.lowerBound, start), bounds.upperBound)
        for skipped in skipped.map({ $0.numbers.clamped(to: bounds) }) where !skipped.isEmpty {
            if start < skipped.lowerBound { ranges.append(start..<skipped.lowerBound) }
            start = max(start, skipped.upperBound)
        }
        if start < bounds.upperBound { ranges.append(start..<bounds.upperBound) }
        return ranges
    }
}

/// Ranges of numbers, which are divided as if there were no gaps between them.
struct NumberParts {
    private let ranges: [Range<UInt64>]
    /// For each range, how many numbers those before it have.
    private let before: [UInt64]
    let count: UInt64

    init(_ ranges: [Range<UInt64>]) {
        self.ranges = ranges.filter { !$0.isEmpty }
        var (before, count): ([UInt64], UInt64) = ([], 0)
        for range in self.ranges {
            before.append(count)
            count += range.upperBound - range.lowerBound
        }
        (self.before, self.count) = (before, count)
    }

    /// Those whose places are in a range; places begin at 0. O(log ranges + k) for k ranges that it has some of.
    subscript(places: Range<UInt64>) -> [Range<UInt64>] {
        var numbers: [Range<UInt64>] = []
        var index = max(0, before.indices.firstNumber { before[$0] > places.lowerBound } - 1)
        while index < ranges.count, before[index] < places.upperBound {
            let (start, range) = (before[index], ranges[index])
            let lower = range.lowerBound + max(places.lowerBound, start) - start
            let upper = min(range.upperBound, range.lowerBound + places.upperBound - start)
            if lower < upper { numbers.append(lower..<upper) }
            index += 1
        }
        return numbers
    }
}
