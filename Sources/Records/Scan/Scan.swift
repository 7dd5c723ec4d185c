internal import FetchIndexLMDB
package import FetchIndexModels
internal import Synchronization
internal import FetchIndexPlatform
internal import FetchIndexValues

/// Reads the records of a selection in blocks, on several threads. Each thread has its own reader of the same state.
///
///     selection    candidates: looked up on the caller's thread
///                  numbers: divided into parts, which the threads share
///     filter       leaves out zones and objects that cannot match (scan skipping)
///     block        records, without copies; the caller says which of them stay selected
package final class Scan {
    /// The approximate number of parts per thread. A thread can read several parts, since their costs differ.
    private static let partsOfThread: UInt64 = 8

    private let selection: RecordSelection
    /// The readers, one for each thread. The first is the caller's.
    private let readers: [StoreReader]

    /// Prepares a scan on the store's number of threads, with a reader for each. Uses fewer threads if a reader of the
    /// same state can't be opened, or if few objects are to be read: starting a thread costs as much as comparing a
    /// number in several thousand objects. One thread is used for candidates, and for a writer, whose transaction
    /// belongs to its thread.
    package init(
        of reader: StoreReader, _ selection: RecordSelection = .all, entities: [Int], fewestOfThread: UInt64 = 10_000
    ) throws {
        self.selection = selection
        var most = reader is StoreWriter ? 1 : reader.store.threads
        // Candidates are looked up on one thread, since dividing them wouldn't pay.
        if case .objects = selection { most = 1 }
        if most > 1 {
            most = min(most, Int(clamping: try selection.count(of: entities, in: reader) / fewestOfThread))
        }
        readers = [reader] + (1..<max(most, 1)).compactMap { _ in reader.another() }
    }

    package var threadCount: Int { readers.count }
    private var isAlone: Bool { threadCount == 1 }

    /// The reader that a thread of the scan uses.
    package func reader(ofThread thread: Int) -> StoreReader { readers[thread] }

    /// Calls the body with an entity's records in blocks, on several threads. Each thread calls `finish` after its last
    /// block. `filters`, one per thread, skip objects that the caller doesn't want. A thread gets its blocks by ascending
    /// object number, unless a filter says which zones to read first. Throws like `StoreReader.scan`, for example if the number of records differs from the entity's
    /// count. Throws `MissingObject` if a candidate has no record. If a body throws, each thread that is still reading
    /// ends after its current part, without calling `finish`.
    package func forEachBlock(
        of entity: Int, where filters: [ScanFilter?] = [],
        _ body: (_ thread: Int, inout RecordBlock) throws -> Void, finish: (_ thread: Int) throws -> Void = { _ in }
    ) throws {
        if let objects = selection.objects(of: entity) {
            try readers[0].readBlocks(of: objects) {
                try body(0, &$0)
                return true
            }
            return try finish(0)
        }
        let parts = try parts(of: entity, filters.first ?? nil)
        let progress = Mutex<(part: Int, scanned: ScanCount, hasFailed: Bool)>((0, ScanCount(), false))
        // Each thread uses its own reader and filter.
        nonisolated(unsafe) let (readers, filters) = (readers, filters)
        try Threads.run(threadCount) { thread in
            do {
                while true {
                    let part = progress.withLock { progress in
                        defer { progress.part += 1 }
                        return progress.hasFailed ? nil : progress.part
                    }
                    guard let part, part < parts.count else { break }
                    let scanned = try readers[thread].readBlocks(
                        of: entity, numbers: parts[part], where: filters.isEmpty ? nil : filters[thread]
                    ) {
                        try body(thread, &$0)
                        return true
                    }
                    progress.withLock { $0.scanned += scanned }
                }
                if !progress.withLock({ $0.hasFailed }) { try finish(thread) }
            } catch {
                progress.withLock { $0.hasFailed = true }
                throw error
            }
        }
        try requireCount(of: entity, progress.withLock { $0.scanned })
    }

    /// Calls `select` on several threads with an entity's records in blocks. Calls the body on this thread with the
    /// records that stay selected, by ascending object number, until the body returns false. If a record causes an
    /// error, the body first gets the selected records before it. Filters and errors are like those of `forEachBlock`.
    package func forEachSelected(
        of entity: Int, where filters: [ScanFilter?] = [],
        _ select: (_ thread: Int, inout RecordBlock) throws -> Void, _ body: (RecordKey) throws -> Bool
    ) throws {
        if let objects = selection.objects(of: entity) {
            return try readers[0].readBlocks(of: objects) { block in
                try Self.forEachSelected(in: &block, { try select(0, &$0) }, body)
            }
        }
        let numbers = try self.numbers(of: entity)
        let parts = ScanParts(of: numbers.count, threads: threadCount)
        var shouldContinue = true
        var scanned = try readers[0].readBlocks(
            of: entity, numbers: numbers[parts.first], where: filters.first ?? nil
        ) { block in
            shouldContinue = try Self.forEachSelected(in: &block, { try select(0, &$0) }, body)
            return shouldContinue
        }
        if shouldContinue && parts.count > 0 {
            // Each thread uses its own reader and filter.
            nonisolated(unsafe) let (readers, filters) = (readers, filters)
            try Threads.inOrder(threadCount, parts: parts.count) { thread, part, isWanted in
                var result = PartResult()
                do {
                    result.scanned = try readers[thread].readBlocks(
                        of: entity, numbers: numbers[parts[part]], where: filters.isEmpty ? nil : filters[thread]
                    ) { block in
                        _ = try Self.forEachSelected(in: &block, { try select(thread, &$0) }) { object in
                            result.selected.append(object)
                            return true
                        }
                        return isWanted()
                    }
                } catch { result.failure = error }
                return result
            } consume: { result in
                scanned += result.scanned
                for object in result.selected where shouldContinue { shouldContinue = try body(object) }
                if let failure = result.failure, shouldContinue { throw failure }
                return shouldContinue
            }
        }
        if shouldContinue { try requireCount(of: entity, scanned) }
    }

    private struct PartResult {
        var selected: [RecordKey] = []
        var scanned = ScanCount()
        /// The error that stopped the scan of this part; `selected` has the objects before the error.
        var failure: (any Error)?
    }

    /// Calls the body with the selected records of a block. If `select` throws, calls it again for one record at a
    /// time, so that the body gets the records before the failing one. Returns false if the body did.
    private static func forEachSelected(
        in block: inout RecordBlock, _ select: (inout RecordBlock) throws -> Void, _ body: (RecordKey) throws -> Bool
    ) throws -> Bool {
        do { try select(&block) } catch {
            for place in 0..<block.count {
                block.select(only: place)
                try select(&block)
                if try !block.forEachWhile(body) { return false }
            }
            throw error
        }
        return try block.forEachWhile(body)
    }

    /// The object numbers of an entity that are scanned. For several threads, ranges are cut to the numbers in use, so
    /// that the parts are of similar size; a single thread doesn't need that.
    private func numbers(of entity: Int) throws -> NumberParts {
        let wanted = selection.numbers(of: entity)
        if isAlone { return NumberParts(wanted.within(0..<RecordKey.maximumNumber + 1)) }
        // The first numbers may be unused, for example if all objects of a store were replaced. The first part begins
        // at the start of a zone, because a zone of which a part reads only some numbers can't be skipped by its
        // bounds.
        let end = try readers[0].entityState(entity).nextObject
        let start = try min(readers[0].firstNumber(of: entity) / Zone.length * Zone.length, end)
        return NumberParts(wanted.within(start..<end))
    }

    /// The parts of an entity's object numbers, in the order in which the threads take them. If a filter says which
    /// zones to read first, each zone is a part, unless there are too few for the threads to share: the rows of the
    /// first zones may show that the others have no wanted row. O(zones log zones) for such a filter.
    private func parts(of entity: Int, _ filter: ScanFilter?) throws -> [[Range<UInt64>]] {
        let numbers = try self.numbers(of: entity)
        let share = isAlone ? numbers.count : numbers.count / (UInt64(threadCount) * Self.partsOfThread) + 1
        if share >= Zone.length / 2, let precedes = filter?.precedes,
            let zones = try readers[0].zones(of: entity, in: selection.numbers(of: entity), by: precedes)
        {
            return zones
        }
        let length =
            isAlone || share < Zone.length / 2 ? share : (share + Zone.length - 1) / Zone.length * Zone.length
        return stride(from: 0, to: numbers.count, by: UInt64.Stride(clamping: length)).map { numbers[$0..<$0 + length] }
    }

    private func requireCount(of entity: Int, _ scanned: ScanCount) throws {
        let wanted = selection.numbers(of: entity)
        let skipped = scanned.skipped &+ wanted.skippedCount
        try readers[0].requireCount(of: entity, scanned.met &+ skipped, from: wanted.start)
        if wanted.areAll && scanned.skipped == 0 { readers[0].noteVerified(entity) }
    }
}

/// Divides the places of `NumberParts` into parts of a scan. The calling thread scans the first part alone, because
/// many callers want only the first objects; with one thread, the first part has all numbers. The other parts begin
/// short and become longer, so that few records are read after the last object that the caller wants.
private struct ScanParts {
    private static let firstLength: UInt64 = 8192
    private static let shortest: UInt64 = 1024
    /// The maximum number of times that the length of a part doubles. It doubles after each `threads` parts.
    private static let mostDoublings = 4

    let first: Range<UInt64>
    private let end: UInt64
    private let threads: Int
    /// The number of parts after the first one.
    private(set) var count = 0

    init(of numberCount: UInt64, threads: Int) {
        end = numberCount
        first = 0..<(threads == 1 ? end : min(Self.firstLength, end))
        self.threads = threads
        let most = Int((end - first.upperBound) / Self.shortest) + 1
        count = (0..<most).firstNumber { self.start(of: $0) >= end }
    }

    subscript(part: Int) -> Range<UInt64> { start(of: part)..<min(end, start(of: part + 1)) }

    private func start(of part: Int) -> UInt64 {
        let doublings = min(part / threads, Self.mostDoublings)
        // Each shorter length was used for as many parts as there are threads.
        let numbersBefore = Self.shortest * UInt64(threads) * ((1 << UInt64(doublings)) - 1)
        let partsOfLength = UInt64(part - doublings * threads)
        return first.upperBound + numbersBefore + partsOfLength * (Self.shortest << UInt64(doublings))
    }
}
