internal import Administration
internal import ArgumentParser
internal import FetchIndex

struct ChangesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Print what changed in a cached order since it was last current, and bring it up to date.")

    @OptionGroup var store: StoreArgument
    @Option(name: .customLong("cache"), help: "The cache's name.") var cacheName: String
    @Option(help: "The entity; the cache's own by default.") var entity: String?
    @OptionGroup var request: RequestOptions
    @OptionGroup var output: OutputOption

    func run() throws {
        let container = try store.open(forWriting: false)
        let definition = try request.definition(ofExisting: cacheName, entity: entity, in: container)
        let bar = ProgressBar("building")
        let start = ContinuousClock.now
        let options = request.orderOptions(cacheName: cacheName, bar, needsExactChange: true)
        let before = container.commit(ofCache: cacheName)
        try container.withOrder(definition, options) { order in
            let duration = ContinuousClock.now - start
            // The changes are told whether or not their objects can be read.
            let report = ChangeReport(order.outcome, of: definition.entity, duration) {
                (try? container.names(of: $0, since: before)) ?? [:]
            }
            bar.finish()
            if output.isJSON { return try Output.jsonLine(report) }
            if report.rows != nil { Output.line(report.outcome.sentence) }
            for line in report.lines { Output.line(line) }
        }
    }
}
