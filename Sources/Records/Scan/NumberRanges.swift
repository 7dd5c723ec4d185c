internal import FetchIndexValues

/// The object numbers of an entity that a scan reads: all numbers of at least `start`, except skipped zones.
package struct NumberRanges: Sendable {
    struct Skipped: Sendable {
        let numbers: Range<UInt64>
        /// The number of objects that have these numbers.
        let count: UInt64
    }

    /// The least object number to read. If it isn't 0, each allocated number from this one on must have an object, so
    /// that the count of these objects is known.
    let start: UInt64
    /// The skipped ranges, in ascending order.
    private let skipped: [Skipped]

    package static let all = NumberRanges()

    init(from start: UInt64 = 0, skipping skipped: [Skipped] = []) { (self.start, self.skipped) = (start, skipped) }

    var areAll: Bool { skipped.isEmpty && start == 0 }

    /// The number of objects in skipped ranges.
    package var skippedCount: UInt64 { skipped.reduce(0) { $0 &+ $1.count } }

    /// The ranges within `bounds` that are to be read, in ascending order.
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

/// The object numbers of several ranges as one sequence, without the gaps between the ranges. A place is an index in
/// this sequence.
struct NumberParts {
    private let ranges: [Range<UInt64>]
    /// For each range, the count of object numbers in the ranges before it.
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

    /// The object numbers at a range of places. O(log ranges + k) for k ranges in the result.
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
