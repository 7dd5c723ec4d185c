internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexPlatform

extension CacheEngine {
    private static let processName = ProcessInfo.processInfo.processName

    var statistics: OpeningStatistics { OpeningStatistics(of: store) }

    /// Opens a cache, and records the opening unless it is a hit.
    func recorded(
        _ cache: CacheRequest, _ open: () throws -> (opened: OpenedOrder, snapshot: Snapshot)
    ) throws -> (opened: OpenedOrder, snapshot: Snapshot) {
        let start = ContinuousClock.now
        let result = try open()
        record(result, of: cache, since: start)
        return result
    }

    /// Records an opening unless it was a hit. Without a place in the cache, it is recorded with the cache that is there, if any.
    func record(
        _ result: (opened: OpenedOrder, snapshot: Snapshot), of cache: CacheRequest,
        since start: ContinuousClock.Instant
    ) {
        if case .hit = result.opened.outcome { return }
        let number =
            result.opened.place.number ?? ((try? CacheDirectory.header(cache.name, in: result.snapshot)) ?? nil)?.number
        record(result.opened, of: cache, number, since: start)
    }

    /// Records an opening of a cache with a number unless it was a hit.
    package func record(
        _ opened: OpenedOrder?, of cache: CacheRequest, _ number: UInt32?, since start: ContinuousClock.Instant
    ) {
        guard let opened else { return }
        record(opened, of: cache, number, ContinuousClock.now - start, isStored: opened.isStored)
    }

    /// Records a reading when it is known whether its cache takes the order, unless it was a hit, or a rebuild, which is recorded when it
    /// is made.
    func record(_ reading: CacheReading, isStored: Bool) {
        guard case .caughtUp = reading.opened.outcome else { return }
        record(
            reading.opened, of: reading.cache, reading.opened.place.number, reading.duration, isStored: isStored)
    }

    private func record(
        _ opened: OpenedOrder, of cache: CacheRequest, _ number: UInt32?, _ duration: Duration, isStored: Bool
    ) {
        guard let number else { return }
        let kind: RecordedOpening.Kind
        var reason: RebuildReason?
        let rows: Int
        switch opened.outcome {
        case .hit, .computed: return
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
            of: number, cache.name)
    }
}
