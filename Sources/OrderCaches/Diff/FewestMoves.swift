internal import FetchIndexValues
/// Finds the fewest items that must move to turn one sequence into another, if the keys of only some items changed.
///
/// The items that stay are a longest increasing subsequence of old positions, read in the new order. Items whose keys
/// didn't change keep their relative order. So each run of them between changed items counts as one item, whose weight
/// is the run's length. The heaviest increasing subsequence of changed items and runs is then the longest one of all
/// items. O(k log k) for k changed, removed and inserted items, independently of the sequences' lengths.
struct FewestMoves {
    /// An item whose key changed, with its positions in the whole old and new sequence.
    struct Changed {
        let old: Int
        let new: Int
    }

    /// The items that must move.
    struct Result {
        /// The indexes of the changed items that move. The other changed items stay.
        var movedChanged: Set<Int> = []
        /// The unchanged items that move, as ranges of positions among the unchanged items.
        var movedUnchanged: [Range<Int>] = []
    }

    private struct Item {
        /// The position in the old order, as three numbers to be compared: the number of unchanged items before it; 0
        /// for a changed item and 1 for the run that follows it; the old position of a changed item.
        let oldOrder: (Int, Int, Int)
        /// The content: a run of unchanged items, or the index of a changed item.
        let content: Content
    }

    private enum Content {
        case changed(Int)
        case run(Range<Int>)
    }

    /// Finds the items that move. `oldLeft` are the old positions of removed items, `newCame` the new positions of
    /// inserted ones, both in ascending order.
    static func find(_ changed: [Changed], oldCount: Int, oldLeft: [Int], newCame: [Int]) -> Result {
        let oldOthers = merged(oldLeft, changed.map(\.old).sorted())
        let newOthers = merged(newCame, changed.map(\.new).sorted())
        let unchangedCount = oldCount - oldOthers.count
        // For each changed item, the number of unchanged items before it.
        let before = changed.map { item in
            (
                old: item.old - count(of: oldOthers, below: item.old),
                new: item.new - count(of: newOthers, below: item.new)
            )
        }
        let cuts = Set(before.flatMap { [$0.old, $0.new] } + [0, unchangedCount]).sorted()
        var items: [(newOrder: (Int, Int, Int), Item)] = changed.indices.map { index in
            let item = Item(oldOrder: (before[index].old, 0, changed[index].old), content: .changed(index))
            return ((before[index].new, 0, changed[index].new), item)
        }
        for (start, end) in zip(cuts, cuts.dropFirst()) where start < end {
            items.append(((start, 1, 0), Item(oldOrder: (start, 1, 0), content: .run(start..<end))))
        }
        items.sort { $0.newOrder < $1.newOrder }
        return result(items.map(\.1))
    }

    /// Finds the items outside of the heaviest subsequence whose old positions increase.
    private static func result(_ items: [Item]) -> Result {
        var subsequence = HeaviestIncreasing()
        subsequence.reserveCapacity(items.count)
        for item in items {
            switch item.content {
            case .changed: subsequence.append(unchanged: 0)
            case .run(let range): subsequence.append(unchanged: range.count)
            }
        }
        let byOld = items.indices.sorted { items[$0].oldOrder < items[$1].oldOrder }
        for (rank, index) in byOld.enumerated() { subsequence.setRank(rank, of: index) }
        let stays = subsequence.find()
        var result = Result()
        for index in items.indices where !stays.contains(index) {
            switch items[index].content {
            case .changed(let changed): result.movedChanged.insert(changed)
            case .run(let range): result.movedUnchanged.append(range)
            }
        }
        return result
    }

    private static func merged(_ left: [Int], _ right: [Int]) -> [Int] { (left + right).sorted() }

    /// The number of elements of an ascending array that are less than `number`.
    static func count(of ascending: [Int], below number: Int) -> Int {
        (0..<ascending.count).firstNumber { ascending[$0] >= number }
    }

    /// The position of the n-th item, counted from 0, that isn't at one of these ascending positions.
    static func position(ofOther ordinal: Int, without ascending: [Int]) -> Int {
        ordinal + (0..<ascending.count).firstNumber { ascending[$0] - $0 > ordinal }
    }
}
