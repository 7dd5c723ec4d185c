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

/// A key that grows with its number, as paths of files do: 200 in a folder.
func pathKey(_ number: Int, length: Int) -> [UInt8] {
    let digits = String(number + 1_000_000).utf8.dropFirst()
    let folders = "/usr/share/a-folder-\(number / 200 + 1000)/"
    return [UInt8](folders.utf8) + repeatElement(97, count: max(0, length - folders.utf8.count - 6)) + digits
}

/// Short keys of few letters, so that they share prefixes, now and then a very long one, and often one of a few folders.
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
