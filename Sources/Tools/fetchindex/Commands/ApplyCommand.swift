internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexModels
internal import ArgumentParser
internal import FetchIndexCatalogues
internal import FetchIndexInspection

struct ApplyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Apply changes from JSON lines, CSV or TSV, transaction by transaction.",
        discussion: """
            Each line is {"op":"insert|update|upsert|delete","key":…,"values":{…}}; a blank line ends a transaction. \
            An upsert updates the object with the key, or inserts an object if none has the key. If the "values" of an \
            update contain another key, the object gets that key; in an insertion or an upsert, another key is an error. \
            A file of CSV or TSV is one transaction. Its column op has the operation, the column of the key has the key, and each \
            other column is a value. --deletes names a file with a key on each line; those objects are deleted last, in a \
            transaction of their own.

            With --cache, the changes that each transaction makes in that order are printed. If a change of the model, the \
            collation or the format has made the cache unusable, a batch without rows and sections comes first: it says that \
            the cache was rebuilt, and that the changes until then are unknown.

            A file can be applied again: upserts and updates to the same values change nothing, --ignore-present skips \
            objects that were inserted before, and --ignore-missing skips objects that were deleted. Several updates of an \
            object in one transaction count as one update.

            --dry-run does all of it in one transaction that is dropped: it prints the counts, and what would change in the \
            order of each --cache. The store stays as it is, and others see nothing. With rules, all of it is one transaction, \
            which is committed only if it keeps them.

            Example: fetchindex apply books.store delta.jsonl --cache 'by publisher' --dry-run
            """)

    @OptionGroup var store: StoreArgument
    @Argument(
        help: "The file of changes: JSON lines, or CSV or TSV with a column op, also compressed; - is standard input.",
        completion: .file())
    var file: String?
    @Option(help: "The entity; required if the store has several.") var entity: String?
    @Option(
        help:
            "The unique attribute that \"key\" is a value of; by default the entity's first unique attribute. If the entity has none, \"key\" is the object's number."
    )
    var key: String?
    @Option(help: "The file's format: csv, tsv or jsonl; by default derived from its name, or jsonl.")
    var format: CatalogueFormat?
    @Option(parsing: .unconditional, help: "The separator of CSV fields, as in `import`.") var delimiter: String?
    @Option(
        help: ArgumentHelp("A file with the key of an object to delete on each line.", valueName: "file"),
        completion: .file())
    var deletes: String?
    @Flag(help: "Skip updates and deletions of missing objects.") var ignoreMissing = false
    @Flag(help: "Skip insertions of objects whose key another object has.") var ignorePresent = false
    @Flag(help: "Exit with code 3 if nothing has changed, or in a dry run, would change.") var ifChanged = false
    @OptionGroup var lists: ListsOption
    @Option(
        name: .customLong("cache"), help: "The cache of the order whose changes are printed; several for a dry run.")
    var cacheNames: [String] = []
    @OptionGroup var review: ReviewOptions
    @OptionGroup var request: RequestOptions
    @OptionGroup var output: OutputOption

    func validate() throws {
        if file == nil && deletes == nil {
            throw ValidationError("Pass a file of changes, or --deletes with a file of keys.")
        }
        if file == CatalogueInput.standardInput && deletes == CatalogueInput.standardInput {
            throw ValidationError("The file of changes and that of --deletes cannot both be standard input.")
        }
        if cacheNames.count > 1 && !review.dryRun { throw ValidationError("Several caches are for --dry-run.") }
        if cacheNames.count > 1 && !request.isEmpty {
            throw ValidationError("The options of a request are for one cache.")
        }
        if delimiter != nil && (file == nil || changeFormat != .csv) {
            throw ValidationError("--delimiter is for a file of CSV.")
        }
    }

    private var changeFormat: CatalogueFormat {
        format ?? file.flatMap { CatalogueFormat(path: $0) } ?? (delimiter == nil ? .jsonl : .csv)
    }

    func run() throws {
        let container = try store.open()
        let model = try container.model()
        let stored = try model.entity(orOnly: entity)
        let keyName = key ?? stored.attributes.first(where: \.isUnique)?.name
        let writer = try BatchWriter(container, entity: stored.name, key: keyName, author: "apply")
        if changeFormat != .jsonl && stored.has(ChangeFile.operationColumn) {
            throw ValidationError(
                "\(stored.name) has an attribute \(ChangeFile.operationColumn), so that rows cannot name their operations: use JSON lines."
            )
        }
        // Opened first, so that nothing is applied if it's missing.
        let keyFile = try deletes.map { try KeyFile($0) }
        let printers = try cacheNames.map { try self.printer($0, of: stored, in: container) }
        let review = try review.review(printers, of: stored.name, in: container)
        let isDryRun = self.review.dryRun
        // The printer of what is committed.
        let printer = isDryRun ? nil : printers.first
        if review == nil {
            try printer?.establish()
        } else if let printer, !isDryRun {
            // A refused batch leaves the caches as they are.
            guard try container.cacheNames().contains(printer.cacheName) else {
                throw try container.unknownCache(printer.cacheName)
            }
        }
        if !isDryRun, let review { writer.beforeCommit = review.require }
        var (transactions, ignored) = (0, 0)
        var counted = writer.counts
        func endTransaction() throws {
            guard writer.hasOpenTransaction else { return }
            // A review sees the file's transactions as one.
            if review != nil {
                if writer.counts != counted { transactions += 1 }
                counted = writer.counts
                return
            }
            try commit()
            transactions += 1
        }
        func commit() throws { if let printer { try printer.commit(writer) } else { try writer.commit() } }
        func applier(_ file: String, isJSON: Bool) -> ChangeApplier {
            ChangeApplier(
                writer, key: keyName, file: CatalogueInput.name(of: file), isJSON: isJSON,
                ignoresMissing: ignoreMissing,
                ignoresPresent: ignorePresent)
        }
        do {
            if let file {
                let format = changeFormat
                let changes = try ChangeFile(
                    file, format, delimiter: delimiter.map { try CatalogueInput.delimiter(option: $0, format) },
                    keyColumn: keyName ?? RecordKey.numberName(stored.has), areListsText: lists.listsAsText)
                let applier = applier(file, isJSON: format == .jsonl)
                try changes.forEachChange(
                    { try applier.apply($0, $1) },
                    endTransaction: {
                        try applier.endTransaction()
                        try endTransaction()
                    })
                ignored += applier.ignoredCount
            }
            if let deletes, let keyFile {
                let applier = applier(deletes, isJSON: false)
                try keyFile.forEachDeletion { try applier.apply($0, $1) }
                try endTransaction()
                ignored += applier.ignoredCount
            }
            if isDryRun, let review {
                _ = try writer.preview { try review.preview($0) }
            } else if review != nil {
                try commit()
            }
            try settle(writer)
        } catch let error as BadInput where review != nil {
            throw Failure("\(error); \(isDryRun ? "it's a dry run, and " : "")nothing was changed")
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
        try printSummary(writer.counts, transactions, ignored: ignored)
        try review?.end()
        if ifChanged, writer.counts.changed == 0 { throw NothingChanged() }
    }

    /// Returns the printer of the changes in a cache's order.
    private func printer(
        _ cacheName: String, of stored: Entity, in container: PersistentContainer
    ) throws -> BatchPrinter {
        // The cache's entity may be a superentity of `stored`, because an order can include the objects of subentities.
        // In that case the request keeps the cache's entity.
        var known: ReadableRequest?
        if case .readable(let found)? = try? container.pinnedState().request(ofCache: cacheName) { known = found }
        let isOfBase =
            try known.map { try $0.includesSubentities && container.model().isSubentity(stored, of: $0.entity) }
        let asked = isOfBase ?? false ? nil : stored.name
        let wanted =
            try known != nil
            ? request.definition(ofExisting: cacheName, entity: asked, in: container)
            : request.definition(of: asked, cache: cacheName, in: container)
        guard let definition = wanted else { throw try container.unknownCache(cacheName) }
        return BatchPrinter(container, definition, request, cacheName: cacheName, isJSON: output.isJSON)
    }

    /// Syncs the output, and then catches up the cache to the printed changes. Warns if another process is writing.
    private func settle(_ writer: BatchWriter) throws {
        try Output.settle()
        do { try writer.storeTold() } catch StoreError.writerBusy {
            Output.warnOfRepetition(by: cacheNames.first ?? "")
        }
    }

    private func printSummary(_ counts: BatchWriter.Counts, _ transactions: Int, ignored: Int) throws {
        if output.isJSON {
            if !cacheNames.isEmpty && !review.dryRun { return }
            var summary = [
                "transactions": transactions, "inserted": counts.inserted, "updated": counts.updated,
                "unchanged": counts.unchanged, "deleted": counts.deleted,
            ]
            if ignoreMissing || ignorePresent { summary["ignored"] = ignored }
            return try Output.jsonLine(summary)
        }
        Output.line(
            "\(review.dryRun ? "nothing was changed; would apply " : "")\(Numbers.count(transactions, "transaction")): \(Numbers.grouped(counts.inserted)) inserted, "
                + "\(Numbers.grouped(counts.updated)) updated, \(Numbers.grouped(counts.unchanged)) unchanged, "
                + "\(Numbers.grouped(counts.deleted)) deleted"
                + (ignoreMissing || ignorePresent ? ", \(Numbers.grouped(ignored)) ignored" : ""))
    }
}
