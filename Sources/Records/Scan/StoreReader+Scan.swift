internal import FetchIndexLMDB
internal import FetchIndexModels

extension StoreReader {
    /// As `scan(_:from:_:)` in blocks, for some ranges of numbers, in their order, until the body returns false; all records of a block
    /// are selected. A filter leaves out objects of which zones and columns say that they are not wanted. The body writes nothing to the
    /// store.
    func scan(
        _ entity: Int, numbers: [Range<UInt64>], where filter: ScanFilter? = nil,
        _ body: (inout RecordBlock) throws -> Bool
    ) throws -> ScanCount {
        let numbers = numbers.filter { !$0.isEmpty }
        guard let filter, !hasOpenZones else { return ScanCount(met: try scanRanges(numbers, of: entity, body).met) }
        var scanned = ScanCount()
        var shouldContinue = true
        for range in numbers where shouldContinue {
            try forEachSelection(of: entity, in: range, filter) { selected in
                let (met, isOver) = try scanRanges(selected.ranges, of: entity, body)
                scanned += ScanCount(met: met, skipped: selected.skippedCount)
                shouldContinue = !isOver
                return shouldContinue
            }
        }
        return scanned
    }

    /// Of ranges that are not empty. Returns how many objects it met, and whether the body ended the scan.
    private func scanRanges(
        _ numbers: [Range<UInt64>], of entity: Int, _ body: (inout RecordBlock) throws -> Bool
    ) throws -> (met: UInt64, isOver: Bool) {
        var met: UInt64 = 0
        var isOver = false
        let isVerified = verifiedEntities.contains(entity)
        try withScanErrors(of: entity) {
            try view.withCursor(on: tables.records) { cursor in
                var block = RecordBlock(missing: model.entities[entity].missingValues)
                for (index, range) in numbers.enumerated() {
                    let last = RecordKey(entity: entity, number: range.upperBound - 1).rawValue
                    let first = RecordKey(entity: entity, number: range.lowerBound).rawValue
                    var failure: (any Error)?
                    do { _ = try cursor.seek(toKeyFrom: first) } catch { failure = error }
                    var isRead = false
                    while !isRead {
                        failure = failure ?? block.read(from: &cursor, through: last)
                        isRead = !block.isFull
                        // The records of short ranges are handed out together.
                        if isRead, failure == nil, index + 1 < numbers.count { break }
                        if !isVerified { failure = block.checkAll { try verify($1, of: $0) } ?? failure }
                        met &+= UInt64(block.count)
                        // The records before one that cannot be read come first, as if they were read one by one.
                        if block.count > 0, try !body(&block) {
                            isOver = true
                            return
                        }
                        if let failure { throw failure }
                        block.removeAll()
                    }
                }
            }
        }
        return (met, isOver)
    }
}

/// How many objects a scan has met, and how many it has left out.
struct ScanCount {
    var met: UInt64 = 0
    var skipped: UInt64 = 0

    static func += (left: inout ScanCount, right: ScanCount) {
        left.met &+= right.met
        left.skipped &+= right.skipped
    }
}
