internal import FetchIndex
internal import FetchIndexModels
internal import ArgumentParser
internal import FetchIndexCatalogues
internal import FetchIndexInspection

struct ApplyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Apply changes from JSON lines, transaction by transaction.",
        discussion: """
            Each line is {"op":"insert|update|upsert|delete","key":…,"values":{…}}; a blank line ends a transaction. \
            An upsert updates the object with the key, or inserts an object if none has the key. If the "values" of an \
            update contain another key, the object gets that key; in an insertion or an upsert, another key is an error. \
            With --cache, the changes that each transaction makes in that order are printed. If a change of the model, the \
            collation or the format has made the cache unusable, a batch without rows and sections comes first: it says that \
            the cache was rebuilt, and that the changes until then are unknown.

            A file can be applied again: upserts and updates to the same values change nothing, --ignore-present skips \
            objects that were inserted before, and --ignore-missing skips objects that were deleted. Several updates of an \
            object in one transaction count as one update.
            """)

    @OptionGroup var store: StoreArgument
    @Argument(help: "The file of changes, one JSON object per line.") var file: String
    @Option(help: "The entity.") var entity: String
    @Option(
        help:
            "The unique attribute that \"key\" is a value of; by default the entity's first unique attribute. If the entity has none, \"key\" is the object's number."
    )
    var key: String?
    @Flag(help: "Skip updates and deletions of missing objects.") var ignoreMissing = false
    @Flag(help: "Skip insertions of objects whose key another object has.") var ignorePresent = false
    @OptionGroup var lists: ListsOption
    @Option(name: .customLong("cache"), help: "The cache of the order whose changes are printed.") var cacheName:
        String?
    @OptionGroup var request: RequestOptions
    @OptionGroup var output: OutputOption

    func run() throws {
        let container = try store.open()
        let model = try container.model()
        guard let stored = model.entity(named: entity) else { throw model.unknownEntity(entity) }
        let keyName = key ?? stored.attributes.first(where: \.isUnique)?.name
        let writer = try BatchWriter(container, entity: entity, key: keyName, author: "apply")
        let applier = ChangeApplier(
            writer, key: keyName, file: file, ignoresMissing: ignoreMissing, ignoresPresent: ignorePresent)
        var printer: BatchPrinter?
        if let cacheName {
            // The cache's entity may be a superentity of `entity`, because an order can include the objects of
            // subentities. In that case the request keeps the cache's entity.
            var known: ReadableRequest?
            if case .readable(let found)? = try? container.pinnedState().request(ofCache: cacheName) { known = found }
            let isOfBase =
                try known.map { try $0.includesSubentities && container.model().isSubentity(stored, of: $0.entity) }
            let asked = isOfBase ?? false ? nil : entity
            let wanted =
                try known != nil
                ? request.definition(ofExisting: cacheName, entity: asked, in: container)
                : request.definition(of: asked, cache: cacheName, in: container)
            guard let definition = wanted else {
                throw try container.unknownCache(cacheName)
            }
            printer = BatchPrinter(container, definition, request, cacheName: cacheName, isJSON: output.isJSON)
            try printer?.establish()
        }
        var transactions = 0
        func endTransaction() throws {
            guard writer.hasOpenTransaction else { return }
            if let printer { try printer.commit(writer) } else { try writer.commit() }
            transactions += 1
        }
        do {
            let input = try CatalogueInput.opening(file)
            let splitter = try LineSplitter(input)
            input.endSampling()
            try splitter.forEachLine(
                { line, number in
                    if line.isBlank { return try endTransaction() }
                    let change = try ChangeLine(line, number, in: file, areListsText: lists.listsAsText)
                    try applier.apply(change, number)
                }, tooLong: { throw $0 })
            try endTransaction()
            try settle(writer)
        } catch let error as BadInput {
            try settle(writer)
            // The open transaction isn't committed. The transactions before it are committed already.
            let done = transactions == 1 ? "1 transaction before it is" : "\(transactions) transactions before it are"
            throw Failure("\(error); \(done) applied")
        } catch {
            // Catches up the cache to the printed batches, so that they aren't printed again.
            try? settle(writer)
            throw error
        }
        try printSummary(writer.counts, transactions, ignored: applier.ignoredCount)
    }

    /// Syncs the output, and then catches up the cache to the printed changes. Warns if another process is writing.
    private func settle(_ writer: BatchWriter) throws {
        try Output.settle()
        do { try writer.storeTold() } catch StoreError.writerBusy { Output.warnOfRepetition(by: cacheName ?? "") }
    }

    private func printSummary(_ counts: BatchWriter.Counts, _ transactions: Int, ignored: Int) throws {
        if output.isJSON {
            if cacheName != nil { return }
            var summary = [
                "transactions": transactions, "inserted": counts.inserted, "updated": counts.updated,
                "unchanged": counts.unchanged, "deleted": counts.deleted,
            ]
            if ignoreMissing || ignorePresent { summary["ignored"] = ignored }
            return try Output.jsonLine(summary)
        }
        Output.line(
            "\(Numbers.count(transactions, "transaction")): \(Numbers.grouped(counts.inserted)) inserted, "
                + "\(Numbers.grouped(counts.updated)) updated, \(Numbers.grouped(counts.unchanged)) unchanged, "
                + "\(Numbers.grouped(counts.deleted)) deleted"
                + (ignoreMissing || ignorePresent ? ", \(Numbers.grouped(ignored)) ignored" : ""))
    }
}

/// Prints the changes that each transaction makes in an order.
private final class BatchPrinter {
    private let container: PersistentContainer
    private let definition: OrderDefinition
    private let request: RequestOptions
    private let cacheName: String
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
                let report = try ChangeReport(order.outcome, duration, ChangeDetails(definition, order))
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
            details.names = { [container] in (try? container.names(of: $0, since: since)) ?? [:] }
            try print(ChangeReport(outcome, duration, details))
            // A program that reads the output gets each transaction as soon as it is committed. The output isn't synced
            // to disk, because a sync would cost as much as the commit.
            try Output.flush()
        }
    }

    private func print(_ report: ChangeReport) throws {
        if isJSON { return try Output.jsonLine(report) }
        for line in report.lines { Output.line(line) }
        Output.line("")
    }
}
