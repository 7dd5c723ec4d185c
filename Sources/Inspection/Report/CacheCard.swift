internal import FetchIndexInspection
internal import FetchIndex
internal import FetchIndexEssentials

/// Makes the part of the report about one cache.
struct CacheCard {
    private static let mostOpenings = 12
    /// At least this many leaves of each tree (or all), but fewer than twice as many, are read to estimate how full
    /// leaves are.
    private static let sampledLeaves = 200

    private let name: String
    private let number: Int
    private let container: PersistentContainer
    private let pinned: PinnedState
    private let options: InspectionReport.Options

    init(
        _ name: String, _ number: Int, _ container: PersistentContainer, _ pinned: PinnedState,
        _ options: InspectionReport.Options
    ) {
        (self.name, self.number, self.container, self.pinned, self.options) = (name, number, container, pinned, options)
    }

    func card() throws -> Card {
        let cache = try pinned.facts(ofCache: name)
        let history = try container.cacheHistory(name)
        let sections = try SectionChart(ofCache: name, in: pinned)
        var figures = [try sections?.figure()].compactMap(\.self)
        figures += [HistoryCharts.openings(history), HistoryCharts.hits(history)].compactMap(\.self)
        let largest = sections?.largest ?? []
        let shown = history.openings.suffix(Self.mostOpenings)
        let older = history.openings.count - shown.count
        return Card(
            name: name.visible, anchor: "cache\(number)", state: cache.sentence, stateStyle: cache.state.style,
            facts: try facts(cache), figures: figures, hasLargest: !largest.isEmpty, largest: largest,
            hasOpenings: !shown.isEmpty,
            openings: shown.reversed().map(HistoryCharts.row),
            olderOpenings: older > 0 ? "\(Numbers.count(older, "older opening")) in the chart" : "",
            batch: try LastBatch(name, container, pinned).batch(history), verified: try verified(cache))
    }

    private func facts(_ cache: NamedCache) throws -> [Fact] {
        guard let contents = cache.contents else { return [] }
        let request = contents.request
        let order = request.sectionOrder.map { ", ordered by \(Self.words(ofSectionOrder: $0))" } ?? ""
        let section = request.sectionKey + order
        var facts = [
            ("entity", request.entity), ("where", request.predicate), ("sort", request.sortKeys), ("section", section),
            ("aggregates", request.aggregates),
        ].filter { !$1.isEmpty }.map { Fact(name: $0, value: $1.visible) }
        facts.append(
            Fact(
                name: "rows",
                value: Numbers.grouped(contents.rowCount)
                    + (section.isEmpty ? "" : " in \(Numbers.count(contents.sectionCount, "section"))")))
        facts.append(contentsOf: try treeFacts())
        facts.append(
            Fact(
                name: "used",
                value: "\(Numbers.count(cache.hits, "hit")), caught up \(Numbers.count(contents.catchUps, "time")), "
                    + "built \(Numbers.count(contents.builds, "time"))"))
        facts.append(Fact(name: "commit", value: Numbers.grouped(Int(clamping: contents.commit))))
        facts.append(Fact(name: "updated", value: Clock.iso8601(contents.updated.timeIntervalSince1970)))
        return facts
    }

    /// A section order in words: "first row" for `first-row`, "name, descending" for `name:desc`.
    private static func words(ofSectionOrder order: String) -> String {
        order == "count"
            ? "count, descending"
            : order.replacing("first-row", with: "first row").replacing(":desc", with: ", descending")
                .replacing(":asc", with: ", ascending").replacing(":", with: ", ")
    }

    /// The size of the trees of rows and sections, and the depth and fill of the tree of rows.
    private func treeFacts() throws -> [Fact] {
        guard let order = try? pinned.storedOrder(ofCache: name),
            let size = try? order.size(sampledLeaves: Self.sampledLeaves)
        else { return [] }
        let nodes = size.nodeCount
        let percent = Int((size.leafFill * 100).rounded())
        return [
            Fact(name: "size", value: "\(Numbers.count(nodes, "node")), \(Numbers.bytes(nodes * 4096)) of pages"),
            Fact(
                name: "tree",
                value: "\(Numbers.count(size.levels, "level")), leaves \(percent) % full"
                    + (size.leavesRead < size.leafCount
                        ? " (of \(Numbers.grouped(size.leavesRead)) that were read)" : "")),
        ]
    }

    private func verified(_ cache: NamedCache) throws -> Verified? {
        guard options.verifies else { return nil }
        let defects = try container.verifyCache(name) { options.progress(name, $0, $1) }
        let sound =
            isComparable(cache)
            ? "verified: it agrees with the records" : "its nodes are sound; it cannot be compared with the records"
        return Verified(
            sentence: defects.isEmpty ? sound : "verified: it has defects",
            style: defects.isEmpty ? "good" : "bad", defects: defects.map(\.visible))
    }

    /// Whether the cache can be compared with the records. That isn't possible, for example, if the cache is unusable,
    /// if a change of the model or of the rules of text order has changed its fingerprint, if only the program that
    /// built it knows its section key, or if this machine lacks a locale, a calendar or a time zone that the cache
    /// needs.
    private func isComparable(_ cache: NamedCache) -> Bool {
        if case .unusable = cache.state { return false }
        guard case .readable(let request)? = try? pinned.request(ofCache: name) else { return false }
        return (try? request.isComparable()) ?? false
    }
}
