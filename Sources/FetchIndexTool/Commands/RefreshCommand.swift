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
        // Indexes are always up to date.
        let all = stored.filter { !$0.hasPrefix(CacheDirectory.indexPrefix) }
        let wanted = names.isEmpty ? all : names
        let bar = ProgressBar(wanted.count == 1 ? "building \(wanted[0])" : "building caches")
        var reports = [Refreshed?](repeating: nil, count: wanted.count)
        var requests: [CacheRequest] = []
        for (index, name) in wanted.enumerated() {
            do {
                requests.append(try RequestOptions.cacheRequest(name, in: container, bar))
            } catch {
                reports[index] = Refreshed(name: name, error: "\(error)")
            }
        }
        let places = reports.indices.filter { reports[$0] == nil }
        var start = ContinuousClock.now
        try container.cacheEngine.open(requests) { index, result in
            let name = requests[index].name
            do {
                let opened = try result.get()
                let outcome = OutcomeReport(opened.outcome, ContinuousClock.now - start)
                reports[places[index]] = Refreshed(name: name, rows: opened.order.rowCount, outcome: outcome)
            } catch {
                reports[places[index]] = Refreshed(name: name, error: "\(error)")
            }
            start = .now
        }
        bar.finish()
        for report in reports.compactMap(\.self) where !output.isJSON {
            if let outcome = report.outcome {
                Output.line("\(report.name.visible): \(outcome.sentence): \(Numbers.count(report.rows ?? 0, "row"))")
            } else {
                Output.error("\(report.name.visible): \(report.error ?? "")")
            }
        }
        if output.isJSON { try Output.jsonLine(reports) }
        if reports.contains(where: { $0?.error != nil }) { throw Failure("not all caches are up to date") }
    }
}
