internal import FetchIndexOrderCaches

// For printers of change batches, which distinguish the section of the rows without a value from the section of the
// empty string. Users see "" as the name of both.
extension ResultsChange {
    /// The name of the section in the event at an index of `sections`; nil for the section of the rows without a value.
    package func sectionName(ofEvent index: Int) -> String? {
        eventsOfNull.contains(index) ? nil : sections[index].name
    }
}

/// The places of sections before and after a change.
///
/// For printers, which name the sections of each row. Users have ``ChangeSummary``.
package struct SectionPlaces {
    /// The new indexes of moved sections, by old index.
    private var moved: [Int: Int] = [:]
    /// The old indexes of deleted and moved sections, in ascending order.
    private var left: [Int] = []
    /// The new indexes of inserted and moved sections, in ascending order.
    private var came: [Int] = []
    private var deleted: Set<Int> = []
    private var inserted: Set<Int> = []

    package init(_ change: ResultsChange) {
        for event in change.sections {
            switch event {
            case .delete(let from, _):
                deleted.insert(from)
                left.append(from)
            case .insert(let to, _):
                inserted.insert(to)
                came.append(to)
            case .move(let from, let to, _):
                moved[from] = to
                left.append(from)
                came.append(to)
            case .update: break
            }
        }
        left.sort()
        came.sort()
    }

    /// The new index of a section; nil if the section was deleted. O(log s) for s sections that came, went or moved.
    package func new(ofOld index: Int) -> Int? {
        if deleted.contains(index) { return nil }
        if let to = moved[index] { return to }
        // Sections that neither went nor moved keep their relative order.
        return Self.place(index - left.countBelow { $0 < index }, among: came)
    }

    /// The old indexes of the sections that weren't inserted, by new index.
    package func old(ofNew indexes: some Sequence<Int>) -> [Int: Int] {
        let origins = Dictionary(moved.map { ($1, $0) }) { first, _ in first }
        var old: [Int: Int] = [:]
        for index in indexes where !inserted.contains(index) {
            old[index] = origins[index] ?? Self.place(index - came.countBelow { $0 < index }, among: left)
        }
        return old
    }

    /// The index at which the section stands that has an index among all but the taken ones.
    private static func place(_ index: Int, among taken: [Int]) -> Int {
        // Before the taken index at `i` there are `taken[i] - i` others.
        index + taken.indices.countBelow { taken[$0] - $0 <= index }
    }
}

extension RandomAccessCollection {
    /// The number of first elements that fulfil a condition, which no element after them does. O(log n).
    fileprivate func countBelow(_ isBelow: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBelow(self[index(startIndex, offsetBy: middle)]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
