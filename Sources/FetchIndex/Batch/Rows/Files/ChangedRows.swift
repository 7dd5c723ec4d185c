internal import FetchIndexModels
internal import FetchIndexRecords

/// The rows of an import's transaction that changed the store, and later rows of the same objects.
///
/// A class, because asking a struct that contains a batch copies the batch, for each row of an import.
final class ChangedRows {
    private static let mostRows = 1 << 16
    private static let mostBytes = 64 << 20

    private(set) var rows = RowBatch()
    /// The object of each row.
    private(set) var numbers: [UInt64] = []
    private var objects = ObjectNumbers()
    private var bounds: ClosedRange<UInt64>?
    /// The outcomes of the rows, as the writer counted them.
    private(set) var counts = BatchWriter.Counts()
    /// Whether an object has several rows.
    private(set) var hasDoubles = false
    /// Whether all rows are here; false once there were too many.
    private(set) var isComplete = true

    var count: Int { numbers.count }

    /// Whether an object has a row here.
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

    /// The last row of each object, at the position of its first one. Nil if a row lacks a value that an earlier row of
    /// its object has, because both rows then decide the object's values.
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
    /// Whether a row has each attribute and related object that another one has.
    fileprivate func says(_ index: Int, allOf other: Int) -> Bool {
        let (kept, otherKept) = (records.keptSlots(at: index), records.keptSlots(at: other))
        guard kept === otherKept || (kept?.slots ?? []).isSubset(of: otherKept?.slots ?? []) else { return false }
        if links.isEmpty { return true }
        return zip(links[index].related, links[other].related).allSatisfy { !$0.isAbsent || $1.isAbsent }
    }
}
