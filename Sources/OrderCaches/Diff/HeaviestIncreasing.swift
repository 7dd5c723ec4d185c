/// The heaviest subsequence whose ranks increase, found with a Fenwick tree of prefix maxima (Fenwick, 1994).
///
/// O(k log k) for k items. Besides the items, 16 bytes for each item are used.
struct HeaviestIncreasing {
    /// The ranks of the items: 0 to count - 1, each once.
    private var ranks: [UInt32] = []
    /// The number of unchanged elements of each item; 0 for an item that is a changed element.
    private var unchanged: [UInt32] = []

    mutating func reserveCapacity(_ count: Int) {
        ranks.reserveCapacity(count)
        unchanged.reserveCapacity(count)
    }

    /// Adds an item: a changed element, or a number of unchanged elements that stay together. Its rank may be set later.
    mutating func append(unchanged count: Int) {
        ranks.append(0)
        unchanged.append(UInt32(count))
    }

    /// Adds an unchanged element to the last item.
    mutating func extendLast() { unchanged[unchanged.count - 1] += 1 }

    mutating func setRank(_ rank: Int, of item: Int) { ranks[item] = UInt32(rank) }

    /// The items of the heaviest subsequence: the one with the most elements; if there are several, one with the most
    /// unchanged elements.
    func find() -> BitSet {
        // For each item, the item before it in the heaviest subsequence that ends with it, plus 1.
        var previous = [UInt32](repeating: 0, count: ranks.count)
        var last = findPrevious(&previous)
        var found = BitSet(count: ranks.count)
        while last > 0 {
            found.insert(Int(last) - 1)
            last = previous[Int(last) - 1]
        }
        return found
    }

    /// Returns the last item of the heaviest subsequence, plus 1.
    private func findPrevious(_ previous: inout [UInt32]) -> UInt32 {
        let count = ranks.count
        // For each node of the tree, the greatest weight of the subsequences below it, and the item, plus 1, with which
        // that subsequence ends. The upper half of a weight counts elements, the lower half unchanged ones.
        var weights = [UInt64](repeating: 0, count: count + 1)
        var ends = [UInt32](repeating: 0, count: count + 1)
        var last: UInt32 = 0
        var greatest: UInt64 = 0
        // Buffers, because the checks of array accesses took about a quarter of this function's time.
        weights.withUnsafeMutableBufferPointer { weights in
            ends.withUnsafeMutableBufferPointer { ends in
                for item in 0..<count {
                    var (weight, end): (UInt64, UInt32) = (0, 0)
                    var node = Int(ranks[item])
                    while node > 0 {
                        if weights[node] > weight { (weight, end) = (weights[node], ends[node]) }
                        node -= node & -node
                    }
                    previous[item] = end
                    weight += unchanged[item] == 0 ? 1 << 32 : UInt64(unchanged[item]) << 32 | UInt64(unchanged[item])
                    end = UInt32(item + 1)
                    node = Int(ranks[item]) + 1
                    while node <= count {
                        if weights[node] < weight { (weights[node], ends[node]) = (weight, end) }
                        node += node & -node
                    }
                    if weight > greatest { (greatest, last) = (weight, end) }
                }
            }
        }
        return last
    }
}
