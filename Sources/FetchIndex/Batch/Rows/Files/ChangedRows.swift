internal import FetchIndexModels
internal import FetchIndexRecords

/// The rows of an import's transaction that changed an object, and the transaction's later rows of the same objects.
///
/// A class, because reading a property of a struct that contains a batch would copy the batch for each row.
final class ChangedRows {
    private static let mostRows = 1 << 16
    private static let mostBytes = 64 << 20

    private(set) var rows = RowBatch()
    /// The object number of each row.
    private(set) var numbers: [UInt64] = []
    private var objects = ObjectNumbers()
    private var bounds: ClosedRange<UInt64>?
    /// The number of these rows for each outcome. The writer's counts include them.
    private(set) var counts = BatchWriter.Counts()
    /// Whether an object has several rows.
    private(set) var hasDoubles = false
    /// Whether `rows` has all of these rows; false if they were too many or too large, in which case `rows` is empty.
    private(set) var isComplete = true

    var count: Int { numbers.count }

    /// Whether an object has a row in `rows`.
    func has(_ number: UInt64) -> Bool {
        guard let bounds, bounds.contains(number) else { return false }
        return objects.contains(number)
    }

    func append(_ index: Int, of batch: RowBatch, _ outcome: WriteOutcome) {
        counts.add(outcome)
        guard isComplete else { return }
        if numbers.count >= Self.mostRows || rows.records.byteCount >= Self.mostBytes {
            (rows, numbers, objects, bounds) = (RowBatch(), [], ObjectNumbers(), nil)
            isComplete = false
            return
        }
        let number = outcome.object.number
        if has(number) { hasDoubles = true }
        rows.append(index, of: batch)
        numbers.append(number)
        objects.insert(number)
        bounds = min(bounds?.lowerBound ?? number, number)...max(bounds?.upperBound ?? number, number)
    }

    /// Returns the last row of each object, in the order in which the objects had their first rows. Returns nil if a
    /// row lacks a value that an earlier row of the same object has, because the object's values then come from both
    /// rows.
    func lastRows() -> RowBatch? {
        var places: [UInt64: Int] = [:]
        var last: [Int] = []
        for (index, number) in numbers.enumerated() {
            guard let place = places[number] else {
                places[number] = last.count
                last.append(index)
                continue
            }
            guard rows.says(index, allOf: last[place]) else { return nil }
            last[place] = index
        }
        var batch = RowBatch()
        for index in last { batch.append(index, of: rows) }
        return batch
    }
}

extension RowBatch {
    /// Whether a row has a value for each attribute and relationship for which an earlier row has one.
    fileprivate func says(_ index: Int, allOf other: Int) -> Bool {
        let (kept, otherKept) = (records.keptSlots(at: index), records.keptSlots(at: other))
        guard kept === otherKept || (kept?.slots ?? []).isSubset(of: otherKept?.slots ?? []) else { return false }
        if links.isEmpty { return true }
        return zip(links[index].related, links[other].related).allSatisfy { !$0.isAbsent || $1.isAbsent }
    }
}
