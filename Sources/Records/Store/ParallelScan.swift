internal import LMDB
internal import Models
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
            let scanned = try first.scan(entity, numbers: 0..<RecordKey.maximumNumber + 1) { try body(0, &$0) }
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
                    let scanned = try reader.scan(entity, numbers: numbers) { try body(thread, &$0) }
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
    private static let longestPart: UInt64 = 1 << 16

    /// Makes a result of each part of an entity's numbers, on several threads, and hands them out here in the order of the
    /// numbers, until `deliver` returns false. The body scans its part with the reader. Throws as `scan`.
    package func forEachPart<Result>(
        of entity: Int, _ body: (_ thread: Int, ScannedPart) throws -> Result, deliver: (Result) throws -> Bool
    ) throws {
        let end = try first.entityState(entity).nextObject
        var start: UInt64 = 0
        var length = Self.firstLength
        var scanned: UInt64 = 0
        while start < end {
            let count = start == 0 ? 1 : threadCount
            var results = [(Result, UInt64)?](repeating: nil, count: count)
            try results.withUnsafeMutableBufferPointer { buffer in
                // Each thread has an element and a reader of its own.
                nonisolated(unsafe) let (buffer, first, others) = (buffer, first, others)
                try Threads.run(count) { thread in
                    let lower = min(end, start + UInt64(thread) * length)
                    let part = ScannedPart(
                        reader: thread == 0 ? first : others[thread - 1], entity: entity,
                        numbers: lower..<min(end, lower + length))
                    let result = try body(thread, part)
                    buffer[thread] = (result, part.count.scanned)
                }
            }
            for case (let result, let count)? in results {
                scanned += count
                if try !deliver(result) { return }
            }
            start += UInt64(count) * length
            length = min(2 * length, Self.longestPart)
        }
        try first.requireCount(of: entity, scanned)
        first.noteVerified(entity)
    }
}

/// Some of an entity's numbers, for one thread.
package struct ScannedPart {
    fileprivate final class Count { var scanned: UInt64 = 0 }

    fileprivate let reader: StoreReader
    fileprivate let entity: Int
    fileprivate let numbers: Range<UInt64>
    fileprivate let count = Count()

    /// Calls the body with the records of the part in blocks, by number.
    package func forEachBlock(_ body: (inout RecordBlock) throws -> Void) throws {
        count.scanned += try reader.scan(entity, numbers: numbers, body)
    }
}
