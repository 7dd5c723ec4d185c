internal import LMDB
package import Models
internal import Synchronization
internal import SystemBasics

/// Readers of one state, so that several threads can scan its records.
package final class ParallelScan {
    /// Objects below which more threads cost more than they save.
    private static let fewestObjects: UInt64 = 20_000
    /// Parts of an entity that a thread takes, one after the other: several, because some cost more than others.
    private static let partsOfThread: UInt64 = 8

    private let first: StoreReader
    private let others: [Snapshot]

    /// With as many readers as the store has threads, but for few objects, and for a writer, whose transaction belongs to its
    /// thread.
    package init(of reader: StoreReader, objects: UInt64) {
        first = reader
        let count = reader is StoreWriter || objects < Self.fewestObjects ? 1 : reader.store.threads
        others = (1..<max(count, 1)).compactMap { _ in
            // Another state when a writer has committed meanwhile; and all reader slots may be taken.
            guard let other = try? reader.store.snapshot() else { return nil }
            return other.view.identifier == reader.view.identifier ? other : nil
        }
    }

    package var threadCount: Int { others.count + 1 }

    /// What a thread reads with.
    package func reader(ofThread thread: Int) -> StoreReader { thread == 0 ? first : others[thread - 1] }

    /// Calls the body with all records of an entity in blocks, on several threads. Those of one thread ascend. Throws as `scan`. When
    /// one body throws, the others end soon.
    package func forEachBlock(of entity: Int, _ body: (_ thread: Int, inout RecordBlock) throws -> Void) throws {
        if others.isEmpty {
            let scanned = try first.scan(entity, numbers: 0..<RecordKey.maximumNumber + 1) {
                try body(0, &$0)
                return true
            }
            try first.requireCount(of: entity, scanned)
            return first.noteVerified(entity)
        }
        let end = try first.entityState(entity).nextObject
        let length = end / (UInt64(threadCount) * Self.partsOfThread) + 1
        let progress = Mutex<(part: Int, scanned: UInt64, hasFailed: Bool)>((0, 0, false))
        // Each thread has a reader of its own.
        nonisolated(unsafe) let (first, others) = (first, others)
        try Threads.run(threadCount) { thread in
            let reader = thread == 0 ? first : others[thread - 1]
            do {
                while true {
                    let part = progress.withLock { progress in
                        defer { progress.part += 1 }
                        return progress.hasFailed ? nil : progress.part
                    }
                    guard let part, UInt64(part) * length < end else { return }
                    let numbers = UInt64(part) * length..<min(end, UInt64(part + 1) * length)
                    let scanned = try reader.scan(entity, numbers: numbers) {
                        try body(thread, &$0)
                        return true
                    }
                    progress.withLock { $0.scanned += scanned }
                }
            } catch {
                progress.withLock { $0.hasFailed = true }
                throw error
            }
        }
        try first.requireCount(of: entity, progress.withLock { $0.scanned })
        first.noteVerified(entity)
    }

    /// Numbers that this thread scans alone first: many callers want only the first objects.
    private static let firstLength: UInt64 = 8192
    /// Numbers of each part behind these.
    private static let partLength: UInt64 = 1 << 14

    /// Calls the body, on this thread and in the order of their numbers, with an entity's records that `select` leaves selected in
    /// blocks, which come on several threads, until the body returns false. Behind the last record some thousands more are
    /// read. Throws as `scan`.
    package func forEachSelected(
        of entity: Int, _ select: (_ thread: Int, inout RecordBlock) throws -> Void, _ body: (RecordKey) throws -> Bool
    ) throws {
        let end = try first.entityState(entity).nextObject
        let firstEnd = others.isEmpty ? RecordKey.maximumNumber + 1 : min(end, Self.firstLength)
        var shouldContinue = true
        var scanned = try first.scan(entity, numbers: 0..<firstEnd) { block in
            try select(0, &block)
            shouldContinue = try block.forEachWhile(body)
            return shouldContinue
        }
        let length = Self.partLength
        if shouldContinue && firstEnd < end {
            // Each thread has a reader of its own.
            nonisolated(unsafe) let (first, others) = (first, others)
            try Threads.inOrder(threadCount, parts: Int((end - firstEnd + length - 1) / length)) { thread, part in
                let lower = firstEnd + UInt64(part) * length
                var selected: [RecordKey] = []
                let scanned = try (thread == 0 ? first : others[thread - 1]).scan(
                    entity, numbers: lower..<min(end, lower + length)
                ) { block in
                    try select(thread, &block)
                    block.forEach { object, _ in selected.append(object) }
                    return true
                }
                return (selected, scanned)
            } consume: { (selected, count) in
                scanned += count
                for object in selected where shouldContinue { shouldContinue = try body(object) }
                return shouldContinue
            }
        }
        guard shouldContinue else { return }
        try first.requireCount(of: entity, scanned)
        first.noteVerified(entity)
    }
}
