internal import FetchIndexTerminal
internal import FetchIndexModels
internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexPlatform
internal import FetchIndexInspection

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print the changes of a cached order as other processes make them, until interrupted.",
        discussion: """
            The first batch has the changes since the cache was last current; it is printed even if it is empty. Each further \
            batch begins where the one before it ended. After each batch is written, the cache is caught up, unless another \
            process is writing; in that case the next batch catches it up.

            Example: fetchindex watch books.store --cache 'by publisher' --output json
            """)

    @OptionGroup var store: StoreArgument
    @Option(name: .customLong("cache"), help: "The cache's name.") var cacheName: String
    @Option(help: "The entity; the cache's own by default.") var entity: String?
    @OptionGroup var request: RequestOptions
    @OptionGroup var output: OutputOption

    func run() throws {
        let container = try store.open(forWriting: false)
        let definition = try request.definition(ofExisting: cacheName, entity: entity, in: container)
        // Starts watching before the fetch, so that no commit after the fetched state is missed.
        let commits = CommitWatch(container)
        let context = container.newContext()
        let controller = try FetchedResultsController(definition, context, cacheName: cacheName, needsExactChange: true)
        let printer = WatchPrinter(of: definition, isJSON: output.isJSON)
        controller.delegate = printer
        let start = ContinuousClock.now
        let outcome = try controller.performFetch()
        if !output.isJSON {
            Output.line(
                "watching \(Numbers.count(controller.fetchedObjects?.count ?? 0, "row")) of \"\(cacheName.visible)\"")
        }
        try printer.print(outcome, of: controller, ContinuousClock.now - start)
        try controller.settle()
        while commits.wait() != nil {
            printer.begin(at: try context.commit)
            try context.mergeChanges()
            if let error = printer.error { throw error }
            try controller.settle()
            // Gives memory that a large batch needed back to the system.
            Memory.giveBack()
        }
        throw StoreError.moved(path: container.path)
    }
}

/// Prints each batch when it is delivered.
private final class WatchPrinter: FetchedResultsControllerDelegate {
    typealias Object = ManagedObject

    private let definition: OrderDefinition
    private let isJSON: Bool
    private(set) var error: (any Error)?
    /// The time at which a newer commit was detected, and the commit that the context had at that time.
    private var start = ContinuousClock.now
    private var commit: UInt64?

    init(of definition: OrderDefinition, isJSON: Bool) { (self.definition, self.isJSON) = (definition, isJSON) }

    func begin(at commit: UInt64) { (start, self.commit) = (ContinuousClock.now, commit) }

    /// Prints the batch of the first fetch.
    func print(
        _ outcome: FetchOutcome, of controller: FetchedResultsController<ManagedObject>, _ duration: Duration
    ) throws {
        try print(ChangeReport(outcome, duration, details(controller)))
    }

    private func details(_ controller: FetchedResultsController<ManagedObject>) throws -> ChangeDetails {
        guard let order = try controller.savedOrder() else { return ChangeDetails(entity: definition.entity) }
        return ChangeDetails(definition, order, since: commit, withValues: isJSON)
    }

    func print(_ report: ChangeReport) throws {
        if isJSON { try report.printJSON() } else { try report.printLines() }
        try Output.settle()
    }

    func controller(_ controller: FetchedResultsController<ManagedObject>, didChange change: ResultsChange) {
        let duration = ContinuousClock.now - start
        do { try print(ChangeReport(change, duration, details(controller))) } catch { self.error = error }
    }

    func controller(_ controller: FetchedResultsController<ManagedObject>, didFailWith error: any Error) {
        self.error = error
    }
}
