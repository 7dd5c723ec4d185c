internal import Records
internal import ArgumentParser
internal import FetchIndex
internal import OrderCaches

struct RefreshCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh", abstract: "Bring caches up to date, so that the next fetches are hits.",
        discussion: """
            A cache that is behind is caught up, and one that cannot be is built again. A cache that cannot be refreshed is \
            named, the others are, and the exit code is 1.
            """)

    @OptionGroup var store: StoreArgument
    @Argument(help: "The caches' names; all caches by default.") var names: [String] = []
    @OptionGroup var threads: ThreadsOption
    @OptionGroup var output: OutputOption

    private struct Refreshed: Encodable {
        let name: String
        var rows: Int?
        var outcome: OutcomeReport?
        var error: String?
    }

    func run() throws {
        let container = try store.open(threads: threads.count)
        let stored = try CacheDirectory.names(in: container.store.snapshot())
        // Before any cache is refreshed.
        if let unknown = names.first(where: { !stored.contains($0) }) { throw StoreError.unknownCache(unknown) }
        var reports: [Refreshed] = []
        // Indexes are always up to date.
        let all = stored.filter { !$0.hasPrefix(CacheDirectory.indexPrefix) }
        for name in names.isEmpty ? all : names {
            let report = refresh(name, in: container)
            reports.append(report)
            if output.isJSON { continue }
            if let outcome = report.outcome {
                Output.line("\(name.visible): \(outcome.sentence): \(Numbers.count(report.rows ?? 0, "row"))")
            } else {
                Output.error("\(name.visible): \(report.error ?? "")")
            }
        }
        if output.isJSON { try Output.jsonLine(reports) }
        if reports.contains(where: { $0.error != nil }) { throw Failure("not all caches are up to date") }
    }

    private func refresh(_ name: String, in container: PersistentContainer) -> Refreshed {
        let bar = ProgressBar("building \(name)")
        defer { bar.finish() }
        let start = ContinuousClock.now
        do {
            let options = try RequestOptions.parse([])
            let definition = try options.definition(ofExisting: name, entity: nil, in: container)
            return try container.withOrder(definition, options.orderOptions(cacheName: name, bar)) { order in
                let outcome = OutcomeReport(order.outcome, ContinuousClock.now - start)
                return Refreshed(name: name, rows: order.rowCount, outcome: outcome)
            }
        } catch {
            return Refreshed(name: name, error: "\(error)")
        }
    }
}
