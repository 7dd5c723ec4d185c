internal import FetchIndexLMDB
package import FetchIndexModels
internal import Synchronization
internal import FetchIndexPlatform
internal import FetchIndexValues

/// Readers of one state, so that several threads can scan its records.
package final class ParallelScan {
    /// Parts of an entity that a thread takes, one after the other: several, because some cost more than others.
    private static let partsOfThread: UInt64 = 8

    private let first: StoreReader
    private let others: [Snapshot]

    /// With as many readers as the store has threads; with fewer for few objects, and one for a writer, whose transaction belongs
    /// to its thread. To begin a thread costs as much as to compare a number of some thousand objects.
    package init(of reader: StoreReader, objects: UInt64, fewestOfThread: UInt64 = 10_000) {
        first = reader
        let most = reader is StoreWriter ? 1 : reader.store.threads
        let count = min(most, Int(clamping: objects / fewestOfThread))
        others = (1..<max(count, 1)).compactMap { _ in reader.another() }
    }

    package var threadCount: Int { others.count + 1 }

    /// What a thread reads with.
    package func reader(ofThread thread: Int) -> StoreReader { thread == 0 ? first : others[thread - 1] }

    /// Calls the body with the records of an entity in blocks, on several threads: of all, of those with some numbers, or of those from
    /// a number on where none of these was deleted. Those of one thread ascend. A thread that has had its last block calls `finish`.
    /// `filters`, one for each thread, leave out objects that the caller does not want.
    /// Throws as `scan`, also when there are not as many as the entity counts. When one body throws, the others end soon.
    package func forEachBlock(
        of entity: Int, from number: UInt64 = 0, in wanted: NumberRanges = .all, where filters: [ScanFilter?] = [],
        _ body: (_ thread: Int, inout RecordBlock) throws -> Void, finish: (_ thread: Int) throws -> Void = { _ in }
    ) throws {
        precondition(number == 0 || wanted.areAll, "Some zones, or the objects from a number on: not both.")
        if others.isEmpty {
            let numbers = wanted.within(number..<RecordKey.maximumNumber + 1)
            let scanned = try first.scan(entity, numbers: numbers, where: filters.first ?? nil) {
                try body(0, &$0)
                return true
            }
            try requireCount(of: entity, scanned, wanted, from: number)
            return try finish(0)
        }
        // Of a store whose objects were all replaced, the first numbers are free.
        let (least, end) = try (first.firstNumber(of: entity), first.entityState(entity).nextObject)
        // Whole zones where there are enough: those that are divided cannot be skipped.
        let start = max(number, least / Zone.length * Zone.length)
        let numbers = NumberParts(wanted.within(min(start, end)..<end))
        let share = numbers.count / (UInt64(threadCount) * Self.partsOfThread) + 1
        let length = share < Zone.length / 2 ? share : (share + Zone.length - 1) / Zone.length * Zone.length
        let progress = Mutex<(part: Int, scanned: ScanCount, hasFailed: Bool)>((0, ScanCount(), false))
        // Each thread has a reader of its own.
        nonisolated(unsafe) let (first, others, filters) = (first, others, filters)
        try Threads.run(threadCount) { thread in
            let reader = thread == 0 ? first : others[thread - 1]
            do {
                while true {
                    let part = progress.withLock { progress in
                        defer { progress.part += 1 }
                        return progress.hasFailed ? nil : progress.part
                    }
                    guard let part, UInt64(part) * length < numbers.count else { break }
                    let lower = UInt64(part) * length
                    let filter = filters.isEmpty ? nil : filters[thread]
                    let scanned = try reader.scan(entity, numbers: numbers[lower..<lower + length], where: filter) {
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
        try requireCount(of: entity, progress.withLock { $0.scanned }, wanted, from: number)
    }

    private func requireCount(
        of entity: Int, _ scanned: ScanCount, _ wanted: NumberRanges, from number: UInt64 = 0
    ) throws {
        let skipped = scanned.skipped &+ wanted.skippedCount
        try first.requireCount(of: entity, scanned.met &+ skipped, from: number)
        if number == 0 && wanted.areAll && scanned.skipped == 0 { first.noteVerified(entity) }
    }

    /// Calls `select` on several threads with an entity's records in blocks, and the body on this one with those that are left
    /// selected, by number, until it returns false. `filters`, one for each thread, leave out objects that the caller does not want. What
    /// it is called with, and which error is thrown, does not depend on the number of threads. Throws as `scan`.
    package func forEachSelected(
        of entity: Int, in wanted: NumberRanges = .all, where filters: [ScanFilter?] = [],
        _ select: (_ thread: Int, inout RecordBlock) throws -> Void, _ body: (RecordKey) throws -> Bool
    ) throws {
        let isAlone = others.isEmpty
        let end = try first.entityState(entity).nextObject
        let start = try isAlone ? 0 : min(first.firstNumber(of: entity) / Zone.length * Zone.length, end)
        let bounds = start..<(isAlone ? RecordKey.maximumNumber + 1 : end)
        let numbers = NumberParts(wanted.within(bounds))
        let parts = ScanParts(of: numbers.count, threads: threadCount)
        var shouldContinue = true
        var scanned = try first.scan(
            entity, numbers: numbers[isAlone ? 0..<numbers.count : parts.first], where: filters.first ?? nil
        ) { block in
            shouldContinue = try Self.forEachSelected(in: &block, { try select(0, &$0) }, body)
            return shouldContinue
        }
        if shouldContinue && !isAlone && parts.count > 0 {
            // Each thread has a reader of its own.
            nonisolated(unsafe) let (first, others, filters) = (first, others, filters)
            try Threads.inOrder(threadCount, parts: parts.count) { thread, part, isWanted in
                var result = PartResult()
                do {
                    result.scanned = try (thread == 0 ? first : others[thread - 1]).scan(
                        entity, numbers: numbers[parts[part]], where: filters.isEmpty ? nil : filters[thread]
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
        if shouldContinue { try requireCount(of: entity, scanned, wanted) }
    }

    private struct PartResult {
        var selected: [RecordKey] = []
        var scanned = ScanCount()
        /// What ended the part behind these.
        var failure: (any Error)?
    }

    /// Where selecting fails, it is done again for one record after the other: the body gets those before the one that fails.
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
}

/// The parts of so many numbers that threads scan. The first one is for a thread alone, because many callers want only the first
/// objects. Those behind it become longer and longer: then little is read behind the last object that is wanted.
private struct ScanParts {
    private static let firstLength: UInt64 = 8192
    private static let shortest: UInt64 = 1024
    /// How often the length doubles, each time after a part for each thread.
    private static let mostDoublings = 4

    let first: Range<UInt64>
    private let end: UInt64
    private let threads: Int
    /// Without the first one.
    private(set) var count = 0

    init(of numberCount: UInt64, threads: Int) {
        end = numberCount
        first = 0..<min(Self.firstLength, end)
        self.threads = threads
        let most = Int((end - first.upperBound) / Self.shortest) + 1
        count = (0..<most).firstNumber { self.start(of: $0) >= end }
    }

    subscript(part: Int) -> Range<UInt64> { start(of: part)..<min(end, start(of: part + 1)) }

    private func start(of part: Int) -> UInt64 {
        let doublings = min(part / threads, Self.mostDoublings)
        // Each length before this one had a part for each thread.
        let numbersBefore = Self.shortest * UInt64(threads) * ((1 << UInt64(doublings)) - 1)
        let partsOfLength = UInt64(part - doublings * threads)
        return first.upperBound + numbersBefore + partsOfLength * (Self.shortest << UInt64(doublings))
    }
}
