internal import FetchIndex
internal import FetchIndexCountedTree
internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords
internal import FetchIndexPlatform

/// What the report tells of one cache.
struct CacheCard {
    private static let mostOpenings = 12
    /// Leaves that are read to see how full they are.
    private static let sampledLeaves = 200

    private let name: String
    private let number: Int
    private let container: PersistentContainer
    private let snapshot: Snapshot
    private let options: InspectionReport.Options

    init(
        _ name: String, _ number: Int, _ container: PersistentContainer, _ snapshot: Snapshot,
        _ options: InspectionReport.Options
    ) {
        (self.name, self.number, self.container, self.snapshot, self.options) =
            (name, number, container, snapshot, options)
    }

    func card() throws -> Card {
        let cache = try container.cacheEngine.facts(of: name, in: snapshot)
        let history = try container.cacheHistory(name)
        let sections = try SectionChart(ofCache: name, in: container, snapshot)
        var figures = [try sections?.figure()].compactMap(\.self)
        figures += [HistoryCharts.openings(history), HistoryCharts.hits(history)].compactMap(\.self)
        let largest = sections?.largest ?? []
        let shown = history.openings.suffix(Self.mostOpenings)
        let older = history.openings.count - shown.count
        return Card(
            name: name.visible, anchor: "cache\(number)", state: cache.sentence, stateStyle: cache.style,
            facts: try facts(cache), figures: figures, hasLargest: !largest.isEmpty, largest: largest,
            hasOpenings: !shown.isEmpty,
            openings: shown.reversed().map(HistoryCharts.row),
            olderOpenings: older > 0 ? "\(Numbers.count(older, "older opening")) in the chart" : "",
            batch: try LastBatch(name, container, snapshot).batch(history), verified: try verified(cache))
    }

    private func facts(_ cache: CacheFacts) throws -> [Fact] {
        guard let header = cache.header else { return [] }
        // With the names that attributes have now.
        let texts = try? OrderDefinition(header.identity, in: snapshot.model).texts
        var facts = [
            ("entity", header.identity.entity), ("where", texts?.predicate ?? header.identity.predicate),
            ("sort", texts?.sort ?? header.identity.sort), ("section", texts?.section ?? header.identity.section),
            ("keeps", texts?.aggregates ?? header.identity.aggregateList),
        ].filter { !$1.isEmpty }.map { Fact(name: $0, value: $1.visible) }
        facts.append(
            Fact(
                name: "rows",
                value: Numbers.grouped(header.rowCount)
                    + (header.identity.section.isEmpty ? "" : " in \(Numbers.count(header.sectionCount, "section"))")))
        facts.append(contentsOf: try treeFacts())
        facts.append(
            Fact(
                name: "used",
                value: "\(Numbers.count(cache.hits, "hit")), caught up \(Numbers.count(Int(header.catchUps), "time")), "
                    + "built \(Numbers.count(Int(header.builds), "time"))"))
        facts.append(Fact(name: "commit", value: Numbers.grouped(Int(clamping: header.commit))))
        facts.append(Fact(name: "updated", value: Clock.iso8601(header.updated)))
        return facts
    }

    /// Size against what it holds, depth and fill of the tree of rows.
    private func treeFacts() throws -> [Fact] {
        guard let shapes = try? container.caches.shapes(of: name, leaves: Self.sampledLeaves, in: snapshot),
            let rows = shapes.first, let fill = rows.leafFill(capacity: CacheDirectory.nodeCapacity)
        else { return [] }
        let nodes = shapes.reduce(0) { $0 + $1.nodes.reduce(0, +) }
        let percent = Int((fill * 100).rounded())
        return [
            Fact(name: "size", value: "\(Numbers.count(nodes, "node")), \(Numbers.bytes(nodes * 4096)) of pages"),
            Fact(
                name: "tree",
                value: "\(Numbers.count(rows.nodes.count, "level")), leaves \(percent) % full"
                    + (rows.leavesRead < rows.nodes[0]
                        ? " (of \(Numbers.grouped(rows.leavesRead)) that were read)" : "")),
        ]
    }

    private func verified(_ cache: CacheFacts) throws -> Verified? {
        guard options.verifies else { return nil }
        let defects = try container.verifyCache(name) { options.progress(name, $0, $1) }
        let sound =
            isComparable(cache)
            ? "verified: it is what the records give" : "its nodes are whole; it cannot be compared with the records"
        return Verified(
            sentence: defects.isEmpty ? sound : "verified: it is wrong",
            style: defects.isEmpty ? "good" : "bad", defects: defects.map(\.visible))
    }

    /// Not when the cache is unusable, when ICU has changed since it was built, nor when only its program knows its section key.
    private func isComparable(_ cache: CacheFacts) -> Bool {
        guard cache.unusable == nil, let request = try? CacheRequest(ofStored: name, in: snapshot) else { return false }
        return request.order.identity == cache.header?.identity
    }
}
