package import FetchIndexRecords
internal import Synchronization

/// Counts the hits of caches. A hit is written immediately, unless this object wrote another hit of the same cache
/// immediately, less than a second before and in the same hour. In that case, the hit is written together with the
/// cache's next immediate hit, when `write` is called, or when this object is released, because writing a hit takes
/// time. If the process is killed, the unwritten hits are lost.
package final class HitCounts: Sendable {
    private struct Pending {
        let name: String
        /// The time of the last hit that was written immediately.
        let written: Double
        /// The number of hits that aren't written yet, and the time of the last hit. All hits since the last write are
        /// in the same hour.
        var count: UInt64 = 0
        var time: Double
    }

    private static let longestWait = 1.0

    private let statistics: OpeningStatistics
    private let pending = Mutex<[UInt32: Pending]>([:])
    #if DEBUG
        private let assessments = Atomic(0)
        /// The number of assessments that engines with this object have made, for tests.
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

    /// Writes the pending hits of one cache, or of all caches.
    package func write(_ cache: UInt32? = nil) {
        let due = pending.withLock { pending in
            let due = pending.filter { $0.value.count > 0 && ($0.key == cache || cache == nil) }
            for number in due.keys { pending[number]?.count = 0 }
            return due
        }
        for (number, hits) in due { statistics.addHits(hits.count, of: number, hits.name, time: hits.time) }
    }
}
