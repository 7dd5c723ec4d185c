internal import FetchIndexLMDB
internal import FetchIndexModels

/// Reads records in blocks, on one thread of a scan, until the body returns false. In each block that the body gets,
/// all records are selected. The body must not write to the store. Records are verified like those of
/// `StoreReader.scan`.
extension StoreReader {
    /// Calls the body with an entity's records in these ranges of object numbers, in order. Leaves out records that the
    /// filter skips; the filter isn't used while a writer has changed zones that it hasn't written yet. Returns how
    /// many records were read and how many were skipped.
    func readBlocks(
        of entity: Int, numbers: [Range<UInt64>], where filter: ScanFilter? = nil,
        _ body: (inout RecordBlock) throws -> Bool
    ) throws -> ScanCount {
        let numbers = numbers.filter { !$0.isEmpty }
        guard let filter, !hasOpenZones else { return ScanCount(met: try readRanges(numbers, of: entity, body).met) }
        var scanned = ScanCount()
        var shouldContinue = true
        for range in numbers where shouldContinue {
            try forEachSelection(of: entity, in: range, filter) { selected in
                let (met, isOver) = try readRanges(selected.ranges, of: entity, body)
                scanned += ScanCount(met: met, skipped: selected.skippedCount)
                shouldContinue = !isOver
                return shouldContinue
            }
        }
        return scanned
    }

    /// Calls the body with the records of these objects, which must be sorted by number and be of one entity. Throws
    /// `MissingObject` for an object without a record. O(k log n) for k objects; a record on the same page as the
    /// previous one is found without a descent.
    func readBlocks(of objects: ArraySlice<RecordKey>, _ body: (inout RecordBlock) throws -> Bool) throws {
        guard let entity = objects.first?.entity else { return }
        let isVerified = verifiedEntities.contains(entity)
        try withScanErrors(of: entity) {
            try view.withCursor(on: tables.records) { cursor in
                var block = RecordBlock(missing: model.entities[entity].missingValues)
                var rest = objects
                while !rest.isEmpty {
                    var failure: (any Error)?
                    while failure == nil, !block.isFull, let object = rest.popFirst() {
                        do {
                            if try !block.read(object, from: &cursor) { failure = MissingObject(object: object) }
                        } catch { failure = error }
                    }
                    guard try handOut(&block, before: failure, isVerified, body) else { return }
                    block.removeAll()
                }
            }
        }
    }

    /// Reads nonempty ranges of object numbers. Returns the number of records read, and whether the body ended the
    /// scan.
    private func readRanges(
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
                        // If a range ends before the block is full, the records of the next range are added to the
                        // block.
                        if isRead, failure == nil, index + 1 < numbers.count { break }
                        isOver = try !handOut(&block, before: failure, isVerified, body)
                        met &+= UInt64(block.count)
                        if isOver { return }
                        block.removeAll()
                    }
                }
            }
        }
        return (met, isOver)
    }

    /// Calls the body with a block's records before the first damaged or unreadable one, and then throws that record's
    /// error, as if records were read one by one. Returns false if the body did.
    @inline(__always)
    private func handOut(
        _ block: inout RecordBlock, before failure: (any Error)?, _ isVerified: Bool,
        _ body: (inout RecordBlock) throws -> Bool
    ) throws -> Bool {
        var failure = failure
        if !isVerified { failure = block.checkAll { try verify($1, of: $0) } ?? failure }
        if block.count > 0, try !body(&block) { return false }
        if let failure { throw failure }
        return true
    }
}

/// The number of objects that a scan has read, and the number of objects that it has skipped.
struct ScanCount {
    var met: UInt64 = 0
    var skipped: UInt64 = 0

    static func += (left: inout ScanCount, right: ScanCount) {
        left.met &+= right.met
        left.skipped &+= right.skipped
    }
}
