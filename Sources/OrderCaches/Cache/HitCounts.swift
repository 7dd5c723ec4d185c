package import FetchIndexRecords
internal import Synchronization

/// Counts the hits of caches. A cache's first hit is in the file at once, and those of the second after it with the next one after that,
/// when they are asked for, or when this is released: to write each costs more than a sixth of a hit. A process that ends in between
/// loses the hits of its last second.
package final class HitCounts: Sendable {
    private struct Pending {
        let name: String
        /// When hits were last written.
        let written: Double
        /// Not written yet, all of one hour, and the time of the last of them.
        var count: UInt64 = 0
        var time: Double
    }

    private static let longestWait = 1.0

    private let statistics: OpeningStatistics
    private let pending = Mutex<[UInt32: Pending]>([:])
    #if DEBUG
        private let assessments = Atomic(0)
        /// How many caches its engines have assessed, for tests: one an opening.
        package var assessmentCount: Int { assessments.load(ordering: .relaxed) }
        func noteAssessment() { assessments.add(1, ordering: .relaxed) }
    #endif

    package init(of store: Store) { statistics = OpeningStatistics(of: store) }

    deinit { write() }

    func count(_ cache: CacheHeader, time: Double) {
        let isCounted = pending.withLock { pending in
            guard let index = pending.index(forKey: cache.number) else { return false }
            let known = pending.values[index]
            guard known.name == cache.name, time >= known.written, time - known.written < Self.longestWait,
                OpeningLayout.hour(of: time) == OpeningLayout.hour(of: known.time)
            else { return false }
            pending.values[index].count += 1
            pending.values[index].time = time
            return true
        }
        if isCounted { return }
        write(cache.number)
        statistics.countHit(of: cache, time: time)
        pending.withLock { $0[cache.number] = Pending(name: cache.name, written: time, time: time) }
    }

    /// Writes what is not in the file yet: of one cache, or of all.
    package func write(_ cache: UInt32? = nil) {
        let due = pending.withLock { pending in
            let due = pending.filter { $0.value.count > 0 && ($0.key == cache || cache == nil) }
            for number in due.keys { pending[number]?.count = 0 }
            return due
        }
        for (number, hits) in due { statistics.addHits(hits.count, of: number, hits.name, time: hits.time) }
    }
}
