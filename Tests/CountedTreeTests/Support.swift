import Bytes
import TestSupport

@testable import CountedTree

/// What a counted tree means: a sorted array of keys with weights.
struct SortedArray: Equatable {
    var keys: [[UInt8]] = []
    var weights: [Int] = []

    func rank(of key: [UInt8]) -> (rank: Int, isPresent: Bool) {
        var (rank, end) = (0, keys.count)
        while rank < end {
            let middle = (rank + end) / 2
            if keys[middle].lexicographicallyPrecedes(key) { rank = middle + 1 } else { end = middle }
        }
        return (rank, rank < keys.count && keys[rank] == key)
    }

    mutating func insert(_ key: [UInt8], weight: Int) -> Bool {
        let (rank, isPresent) = rank(of: key)
        if isPresent { return false }
        keys.insert(key, at: rank)
        weights.insert(weight, at: rank)
        return true
    }

    mutating func remove(_ key: [UInt8]) -> Int? {
        let (rank, isPresent) = rank(of: key)
        guard isPresent else { return nil }
        keys.remove(at: rank)
        return weights.remove(at: rank)
    }
}

extension CountedTree {
    /// All entries, read by a walk.
    func contents(from rank: Int = 0, _ direction: Direction = .forward) throws -> SortedArray {
        var contents = SortedArray()
        try walk(from: rank, direction) { key, weight in
            contents.keys.append([UInt8](copying: key))
            contents.weights.append(weight)
            return true
        }
        return contents
    }
}

/// Short keys of few letters, so that they share prefixes, and now and then a very long one.
func randomKey(using generator: inout SeededGenerator, longest: Int = 1200) -> [UInt8] {
    let length =
        Int.random(in: 0..<20, using: &generator) == 0
        ? Int.random(in: 0...longest, using: &generator) : Int.random(in: 0...6, using: &generator)
    let letter = Bool.random(using: &generator) ? UInt8(97)...97 : UInt8(97)...100
    return (0..<length).map { _ in UInt8.random(in: letter, using: &generator) }
}
