internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexEssentials

extension CacheEngine {
    private static let processName = ProcessInfo.processInfo.processName

    /// If the reading is a hit of a current cache, counts it, and tries to raise the cache's commit if that is more
    /// than `idleCommits` old.
    func noteHit(_ reading: CacheReading) {
        guard case .hit = reading.opened.outcome, case .stored(let header) = reading.opened.place else { return }
        let time = currentTime()
        if let hits { hits.count(header, time: time) } else { statistics.countHit(of: header, time: time) }
        // Storing the order again raises the cache's commit. If that fails, the log is only trimmed later, so the error
        // doesn't affect the hit.
        if reading.isIdle { _ = try? storedUnlessBusy(reading) }
    }

    /// Records a rebuild in the statistics. If the order is in memory, records it for the cache that has the name in
    /// the reading's snapshot, if any.
    func record(rebuild reading: CacheReading) {
        let (opened, name) = (reading.opened, reading.cache.name)
        let header = opened.place.header ?? ((try? CacheDirectory.header(name, in: reading.snapshot)) ?? nil)
        record(opened, of: reading.cache, header, reading.duration, isStored: opened.isStored)
    }

    /// Records a catch-up or a rebuild in the statistics, unless the order is in memory.
    package func record(_ opened: OpenedOrder, of cache: CacheRequest, since start: ContinuousClock.Instant) {
        record(opened, of: cache, opened.place.header, ContinuousClock.now - start, isStored: opened.isStored)
    }

    /// Records a catch-up in the statistics, once it's known whether the cache stores the order. Does nothing for other
    /// outcomes: a rebuild is recorded when it ends.
    func record(_ reading: CacheReading, isStored: Bool) {
        guard case .caughtUp = reading.opened.outcome else { return }
        record(
            reading.opened, of: reading.cache, reading.opened.place.header, reading.duration, isStored: isStored)
    }

    private func record(
        _ opened: OpenedOrder, of cache: CacheRequest, _ header: CacheHeader?, _ duration: Duration, isStored: Bool
    ) {
        guard let header else { return }
        let kind: RecordedOpening.Kind
        var reason: RebuildReason?
        let rows: Int
        switch opened.outcome {
        case .hit, .pending, .computed: return
        case .caughtUp(let change): (kind, rows) = (.caughtUp, change.rows.count)
        case .rebuilt(let found): (kind, reason, rows) = (.rebuilt, found, opened.order.rowCount)
        }
        let (whole, attoseconds) = duration.components
        let seconds = Double(whole) + Double(attoseconds) / 1e18
        statistics.record(
            RecordedOpening(
                time: currentTime() - seconds, milliseconds: Float(seconds * 1000), kind: kind, reason: reason,
                isStored: isStored, rowCount: rows, start: opened.start ?? 0, process: Self.processName,
                author: cache.author),
            of: header.number, cache.name)
    }
}
