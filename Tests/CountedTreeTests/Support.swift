import FetchIndexPlatform
import FetchIndexTestSupport

@testable import FetchIndexCountedTree

/// The oracle of counted trees: a sorted array of keys with weights.
struct SortedArray: Equatable {
    var keys: [[UInt8]] = []
    var weights: [Int] = []
    /// The number that each entry's summary is made from.
    var numbers: [UInt32] = []

    func rank(of key: [UInt8]) -> (rank: Int, isPresent: Bool) {
        var (rank, end) = (0, keys.count)
        while rank < end {
            let middle = (rank + end) / 2
            if keys[middle].lexicographicallyPrecedes(key) { rank = middle + 1 } else { end = middle }
        }
        return (rank, rank < keys.count && keys[rank] == key)
    }

    mutating func insert(_ key: [UInt8], weight: Int, number: UInt32 = 0) -> Bool {
        let (rank, isPresent) = rank(of: key)
        if isPresent { return false }
        numbers.insert(number, at: rank)
        keys.insert(key, at: rank)
        weights.insert(weight, at: rank)
        return true
    }

    mutating func remove(_ key: [UInt8]) -> Int? {
        let (rank, isPresent) = rank(of: key)
        guard isPresent else { return nil }
        keys.remove(at: rank)
        numbers.remove(at: rank)
        return weights.remove(at: rank)
    }
}

/// Summarizes numbers: the least number in 4 bytes, the length of the sum, the sum and the count.
struct Numbers: Summarizer {
    struct Malformed: Error {}

    final class Sum: RunningSummary {
        var count = 0
        var sum: UInt64 = 0
        var least = UInt32.max

        func add(_ summary: RawSpan) throws {
            guard summary.byteCount >= 5 else { throw Malformed() }
            let bytes = [UInt8](copying: summary)
            let length = Int(bytes[4])
            guard length <= 8, bytes.count >= 5 + length, bytes.count <= 13 + length else { throw Malformed() }
            least = min(least, Numbers.least(in: summary))
            sum &+= bytes[5..<5 + length].reduce(0) { $0 << 8 | UInt64($1) }
            count +=
                Int(truncatingIfNeeded: bytes[(5 + length)...].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }) % (1 << 40)
        }

        func remove(_ summary: RawSpan) -> Bool {
            let bytes = [UInt8](copying: summary)
            let number = Numbers.least(in: summary)
            guard count > 0, bytes.count >= 5, number > least else { return false }
            count -= 1
            sum &-= UInt64(number)
            return true
        }

        func take() -> [UInt8] {
            func digits(_ number: UInt64) -> [UInt8] {
                let bytes = withUnsafeBytes(of: number.bigEndian) { [UInt8]($0.drop { $0 == 0 }) }
                return bytes
            }
            let digitsOfSum = digits(sum)
            let summary =
                withUnsafeBytes(of: least.bigEndian) { [UInt8]($0) } + [UInt8(digitsOfSum.count)] + digitsOfSum
                + digits(UInt64(count))
            (count, sum, least) = (0, 0, .max)
            return summary
        }
    }

    var maximumLength: Int { 21 }

    func begin() -> any RunningSummary { Sum() }

    static func summary(of numbers: some Sequence<UInt32>) -> [UInt8] {
        let sum = Sum()
        for number in numbers {
            sum.count += 1
            sum.sum += UInt64(number)
            sum.least = min(sum.least, number)
        }
        return sum.take()
    }

    /// The least number of a summary; 0 in a tree without summaries.
    static func least(in summary: RawSpan) -> UInt32 {
        summary.byteCount < 4
            ? 0 : UInt32(bigEndian: summary.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self))
    }
}

extension CountedTree {
    /// All entries starting at a rank, as `walk` reads them.
    func contents(from rank: Int = 0, _ direction: Direction = .forward) throws -> SortedArray {
        var contents = SortedArray()
        try walk(from: rank, direction) { entry in
            contents.keys.append([UInt8](copying: entry.key))
            contents.weights.append(entry.weight)
            contents.numbers.append(Numbers.least(in: entry.summary))
            return true
        }
        return contents
    }
}

/// The path of a file as a key. Keys of equal length and with numbers below a million ascend with their numbers; each
/// folder has 200 files.
func pathKey(_ number: Int, length: Int) -> [UInt8] {
    let digits = String(number + 1_000_000).utf8.dropFirst()
    let folders = "/usr/share/a-folder-\(number / 200 + 1000)/"
    return [UInt8](folders.utf8) + repeatElement(97, count: max(0, length - folders.utf8.count - 6)) + digits
}

/// Makes a key: most are short and have few letters, so that they share prefixes; some have up to `longest` bytes;
/// about a quarter are paths in one folder.
func randomKey(using generator: inout SeededGenerator, longest: Int = 1200) -> [UInt8] {
    if Int.random(in: 0..<4, using: &generator) == 0 {
        return pathKey(Int.random(in: 0..<200, using: &generator), length: longest / 30)
    }
    let length =
        Int.random(in: 0..<20, using: &generator) == 0
        ? Int.random(in: 0...longest, using: &generator) : Int.random(in: 0...6, using: &generator)
    let letter = Bool.random(using: &generator) ? UInt8(97)...97 : UInt8(97)...100
    return (0..<length).map { _ in UInt8.random(in: letter, using: &generator) }
}
