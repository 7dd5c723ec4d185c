internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexInspection

/// The metrics of a store: `info --output prometheus`. Points in time are seconds since 1970, so that ages stay right
/// in a file that is read later. A store without a state of some kind, such as a followed source, lacks those metrics.
struct StoreMetrics {
    let information: StoreInformation
    let caches: [NamedCache]
    /// The time of the newest commit, in seconds since 1970; nil if the log doesn't have it.
    let commitTime: Double?

    /// Reads the metrics of the newest state. O(caches + log n), and O(log n) for each commit that a cache is behind.
    /// Throws `StoreError`.
    init(of container: PersistentContainer) throws {
        information = try container.information()
        caches = try container.namedCaches()
        commitTime = try container.pinnedState().commitTime()
    }

    var text: String {
        // Metrics of several stores may be collected together.
        var metrics = MetricsText(labels: [("store", information.path)])
        addStore(to: &metrics)
        addBookmarks(to: &metrics)
        addCaches(to: &metrics)
        addSources(to: &metrics)
        return metrics.text
    }

    private func addStore(to metrics: inout MetricsText) {
        let versions = LibraryVersions.current
        metrics.append(
            "fetchindex_info", .gauge, "1, with the versions of the program and of the store's format.",
            [([("version", versions.fetchIndex), ("format", "\(information.format)"), ("lmdb", versions.lmdb)], 1)])
        metrics.append(
            "fetchindex_objects", .gauge, "Objects of an entity, without those of its subentities.",
            information.entities.map { ([("entity", $0.name)], Double($0.count)) })
        metrics.append("fetchindex_commit", .gauge, "Number of the newest commit.", Double(information.commit))
        metrics.append("fetchindex_commit_timestamp_seconds", .gauge, "Time of the newest commit.", commitTime)
        metrics.append("fetchindex_file_bytes", .gauge, "Length of the store's file.", Double(information.fileBytes))
        metrics.append(
            "fetchindex_file_free_bytes", .gauge, "Bytes of the file's unused pages.", Double(information.freeBytes))
        metrics.append("fetchindex_log_bytes", .gauge, "Bytes of the change log.", Double(information.log.bytes))
        metrics.append(
            "fetchindex_log_limit_bytes", .gauge, "Maximum bytes of the change log.", Double(information.log.limit))
        let readers = information.readers
        metrics.append("fetchindex_readers", .gauge, "Read transactions of all processes.", Double(readers.count))
        metrics.append(
            "fetchindex_pinned_bytes", .gauge,
            "Bytes of free pages that the oldest reader keeps from being used again.",
            Double(readers.map(\.pinnedBytes).max() ?? 0))
        metrics.append(
            "fetchindex_reader_age_seconds", .gauge, "Age of the oldest state that a reader sees.",
            readers.compactMap(\.seconds).max() ?? 0)
    }

    private func addBookmarks(to metrics: inout MetricsText) {
        func each(_ value: (Bookmark) -> Double) -> [([(String, String)], Double)] {
            information.bookmarks.map { ([("bookmark", $0.name)], value($0)) }
        }
        metrics.append("fetchindex_bookmark_commit", .gauge, "Commit of the bookmark.", each { Double($0.commit) })
        metrics.append(
            "fetchindex_bookmark_timestamp_seconds", .gauge, "Time at which the bookmark was set or moved.",
            each { $0.time.timeIntervalSince1970 })
        metrics.append(
            "fetchindex_bookmark_reachable", .gauge, "1 if the change log reaches back to the bookmark.",
            each { $0.isReachable ? 1 : 0 })
        metrics.append(
            "fetchindex_bookmark_pinned_bytes", .gauge, "Bytes of the change log after the bookmark.",
            each { Double($0.pinnedBytes) })
    }

    private func addCaches(to metrics: inout MetricsText) {
        func each(_ value: (NamedCache) -> Double?) -> [([(String, String)], Double)] {
            caches.compactMap { cache in value(cache).map { ([("cache", cache.name)], $0) } }
        }
        let states = caches.flatMap { cache in
            NamedCache.State.words.map { state in
                ([("cache", cache.name), ("state", state)], state == cache.state.word ? 1.0 : 0)
            }
        }
        metrics.append("fetchindex_cache_state", .gauge, "1 for the state that a named cache is in.", states)
        metrics.append(
            "fetchindex_cache_changes_behind", .gauge, "Changed objects that the cache must catch up with.",
            each { $0.changesBehind.map(Double.init) })
        metrics.append(
            "fetchindex_cache_rows", .gauge, "Rows of the cache's order.",
            each { ($0.contents?.rowCount).map(Double.init) })
        metrics.append(
            "fetchindex_cache_sections", .gauge, "Sections of the cache's order.",
            each { ($0.contents?.sectionCount).map(Double.init) })
        metrics.append(
            "fetchindex_cache_updated_timestamp_seconds", .gauge,
            "Time of the last build, or of the last catch-up that changed the order.",
            each { $0.contents?.updated.timeIntervalSince1970 })
        metrics.append(
            "fetchindex_cache_hits_total", .counter, "Openings that found the cache current.", each { Double($0.hits) })
        metrics.append(
            "fetchindex_cache_builds_total", .counter, "Builds of the cache.",
            each { ($0.contents?.builds).map(Double.init) })
        metrics.append(
            "fetchindex_cache_catch_ups_total", .counter, "Catch-ups that changed the order.",
            each { ($0.contents?.catchUps).map(Double.init) })
    }

    private func addSources(to metrics: inout MetricsText) {
        func each(_ value: (StoreInformation.Source) -> Double?) -> [([(String, String)], Double)] {
            information.sources.compactMap { source in value(source).map { ([("source", source.name)], $0) } }
        }
        metrics.append(
            "fetchindex_source_running", .gauge, "1 if a process follows the source.", each { $0.isRunning ? 1 : 0 })
        metrics.append(
            "fetchindex_source_consistent", .gauge,
            "1 if the followed tables are copied, and consistent with each other.", each { $0.isConsistent ? 1 : 0 })
        metrics.append(
            "fetchindex_source_omitted_rows", .gauge, "Rows that are left out, because they cannot be stored.",
            each { Double($0.tables.reduce(0) { $0 + $1.omittedRows.count }) })
        metrics.append(
            "fetchindex_source_lag_seconds", .gauge, "Delay of the store behind the source.", each(\.lagSeconds))
        metrics.append(
            "fetchindex_source_greatest_lag_seconds", .gauge,
            "The most that the store can be behind the source now, also after the follower has ended.",
            each(\.greatestLagSeconds))
        metrics.append(
            "fetchindex_source_silence_seconds", .gauge, "Seconds since the source was last heard from.",
            each(\.silence))
        metrics.append(
            "fetchindex_source_lag_bytes", .gauge, "Bytes of the source's log that the store hasn't received.",
            each { $0.lagBytes.map(Double.init) })
        metrics.append(
            "fetchindex_source_retained_bytes", .gauge, "Bytes of log that the source keeps for the slot.",
            each { $0.retainedBytes.map(Double.init) })
        metrics.append(
            "fetchindex_source_report_timestamp_seconds", .gauge, "Time of the follower's last report.",
            each { $0.age.map { Date().timeIntervalSince1970 - $0 } })
    }
}
