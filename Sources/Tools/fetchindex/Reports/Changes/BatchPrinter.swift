internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexInspection

/// Prints the changes that each transaction makes in an order.
final class BatchPrinter {
    private let container: PersistentContainer
    private let definition: OrderDefinition
    private let request: RequestOptions
    let cacheName: String
    private let isJSON: Bool
    private let titles: SectionTitles?

    init(
        _ container: PersistentContainer, _ definition: OrderDefinition, _ request: RequestOptions, cacheName: String,
        isJSON: Bool
    ) {
        self.container = container
        self.definition = definition
        self.request = request
        self.cacheName = cacheName
        self.isJSON = isJSON
        titles = (try? container.model()).map { SectionTitles(definition.sectionKey, of: definition.entity, in: $0) }
    }

    /// Builds the cache if it is missing or belongs to another request. Rebuilds it if a change of the model, the
    /// collation or the format has made it unusable, and prints a batch without rows and sections. A cache that is
    /// behind stays behind, so that the batch of the first transaction has all changes since the cache was current.
    func establish() throws {
        let bar = ProgressBar("building")
        let start = ContinuousClock.now
        var isPrinted = false
        do {
            try container.establishCache(
                definition, request.orderOptions(cacheName: cacheName, bar, author: "apply")
            ) { order in
                let duration = ContinuousClock.now - start
                let details = ChangeDetails(definition, order, withValues: isJSON)
                let report = ChangeReport(order.outcome, duration, details)
                bar.finish()
                try print(report)
                try Output.settle()
                isPrinted = true
            }
        } catch StoreError.writerBusy where isPrinted {
            Output.warnOfRepetition(by: cacheName)
        }
        bar.finish()
    }

    /// Commits a transaction, and prints what changed in the order. The next call, or the end of the command, catches
    /// up the cache; a cache that is damaged or too far behind is rebuilt immediately.
    func commit(_ writer: BatchWriter) throws {
        let start = ContinuousClock.now
        _ = try writer.commit(bringing: definition, cacheName: cacheName) { outcome, since in
            let duration = ContinuousClock.now - start
            var details = ChangeDetails(entity: definition.entity)
            details.titles = titles
            // Changes are printed even if their objects can't be read.
            let names = try? container.names(since: since)
            details.names = { (try? names?.names(of: $0)) ?? [:] }
            try print(ChangeReport(outcome, duration, details))
            // A program that reads the output gets each transaction as soon as it is committed. The output isn't synced
            // to disk, because a sync would cost as much as the commit.
            try Output.flush()
        }
    }

    private func print(_ report: ChangeReport) throws {
        if isJSON { return try report.printJSON() }
        try report.printLines()
        Output.line("")
    }

    /// The order as a transaction would leave it.
    func order(in preview: BatchPreview) throws -> OrderPreview {
        try preview.order(definition, cacheName: cacheName)
    }

    /// Prints what a transaction would change in the order, or only its numbers.
    func print(_ order: OrderPreview, since commit: UInt64, asSummary: Bool) throws {
        if asSummary {
            let report = SummaryReport(
                try order.order.summary(of: order.change), definition.sectionKey == nil ? nil : titles)
            return try report.print(ofCache: cacheName, asJSON: isJSON)
        }
        let details = ChangeDetails(definition, order.order, since: commit, withValues: isJSON)
        let report = ChangeReport(order.change, .zero, details)
        if isJSON { return try report.printJSON(cacheName: cacheName) }
        Output.line("\(cacheName.visible):")
        try print(report)
    }
}
