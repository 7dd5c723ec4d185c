internal import FetchIndexTerminal
internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexInspection

struct RefreshCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh", abstract: "Catch up caches, so that the next fetches are hits.",
        discussion: """
            A cache that is behind is caught up, or rebuilt if it cannot be caught up. If a cache cannot be refreshed, an error \
            names it, the other caches are refreshed, and the exit code is 1. If any given name is unknown, no cache is refreshed.

            Example: fetchindex refresh books.store
            """)

    @OptionGroup var store: StoreArgument
    @Argument(help: "The caches' names; by default, all caches except those of indexes.") var names: [String] = []
    @OptionGroup var threads: ThreadsOption
    @OptionGroup var output: OutputOption

    private struct Refreshed: Encodable {
        let name: String
        var rows: Int?
        var outcome: OutcomeReport?
        var error: String?

        init(_ name: String, error: String) { (self.name, self.error) = (name, error) }

        init(_ name: String, _ result: Result<RefreshedCache, any Error>, since start: ContinuousClock.Instant) {
            self.name = name
            do {
                let refreshed = try result.get()
                rows = refreshed.rowCount
                outcome = OutcomeReport(refreshed.outcome, ContinuousClock.now - start)
            } catch {
                self.error = "\(error)"
            }
        }
    }

    func run() throws {
        let container = try store.open(threads: threads.count)
        let stored = try container.cacheNames()
        // All names are checked before any cache is refreshed.
        if let unknown = names.first(where: { !stored.contains($0) }) {
            throw try container.unknownCache(unknown)
        }
        // Leaves out indexes, because every writer maintains them.
        let all = stored.filter { !PersistentContainer.isIndex($0) }
        let wanted = names.isEmpty ? all : names
        let bar = ProgressBar(wanted.count == 1 ? "building \(wanted[0])" : "building caches")
        var reports = [Refreshed?](repeating: nil, count: wanted.count)
        var caches: [(definition: OrderDefinition, options: PersistentContainer.OrderOptions)] = []
        var places: [Int] = []
        for (index, name) in wanted.enumerated() {
            do {
                caches.append(try RequestOptions.existing(name, in: container, bar, author: "refresh"))
                places.append(index)
            } catch {
                reports[index] = Refreshed(name, error: "\(error)")
            }
        }
        for report in reports.compactMap(\.self) where !output.isJSON { try show(report, bar) }
        var start = ContinuousClock.now
        try container.refreshCaches(caches) { index, result in
            let report = Refreshed(wanted[places[index]], result, since: start)
            reports[places[index]] = report
            if !output.isJSON { try show(report, bar) }
            start = .now
        }
        bar.finish()
        if output.isJSON { try Output.jsonLine(reports) } else if wanted.isEmpty { Output.noCaches() }
        if reports.contains(where: { $0?.error != nil }) { throw Failure("not all caches could be refreshed") }
    }

    private func show(_ report: Refreshed, _ bar: ProgressBar) throws {
        bar.finish()
        if let outcome = report.outcome {
            Output.line("\(report.name.visible): \(outcome.sentence): \(Numbers.count(report.rows ?? 0, "row"))")
        } else {
            Output.error("\(report.name.visible): \(report.error ?? "")")
        }
        try Output.flush()
    }
}
