internal import FetchIndexTerminal
internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexCatalogues
internal import FetchIndexInspection
internal import FetchIndexPlatform

extension CatalogueFormat: ExpressibleByArgument {}

struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import a catalogue file, or a store of Core Data.",
        discussion: """
            A catalogue is imported in transactions; with --key, an interrupted import can be run again. Files are UTF-8. Lines end with LF, CRLF or CR, and have at most 64 MiB and 32,768 fields. CSV quotes fields \
            as in RFC 4180; TSV has no quotes. A line of JSON is one flat object, and so is an element of the list in a JSON document. A line is a bad row if it has a member \
            twice, or if a value is a list or an object and neither --lists-as-text nor, for an object, --flatten is given.

            If a file lacks a column, or a line lacks a member, stored objects keep the attribute's value or their related \
            objects. Null and empty fields clear them.

            --dry-run does all of it in one transaction that is dropped: it prints the counts, and what would change in the \
            order of each --cache. With rules, the import is one transaction, which is committed only if it keeps them.

            A store of Core Data is recognized by its content, and imported with its model and its relationships: all \
            entities, or each --entity. A later copy of it is compared, in one transaction: what differs is written, and \
            objects that it lacks are deleted, up to --replace-limit.

            Example: fetchindex import books.store books.csv --entity Book --key isbn
            """)

    @OptionGroup var store: StoreArgument
    @Argument(
        help:
            "The catalogue: CSV, TSV, JSON lines or a JSON list, also compressed with gzip or zstd; - is standard input. Or a store of Core Data.",
        completion: .file())
    var files: [String]
    @Option(
        name: .customLong("entity"), parsing: .unconditionalSingleValue,
        help: "The entity; created if missing. Of a store of Core Data, an entity to take over; may be repeated.")
    var entities: [String] = []
    @Option(help: "The unique attribute that identifies objects: a row updates the object with the same value.")
    var key: String?
    @Option(
        help: """
            Types of attributes, e.g. name:string,price:integer; *:string gives the type of all others. By default, types are \
            inferred from all rows: a column becomes numeric only if numbers represent all its texts exactly, and a key \
            column only if the numbers also print back as the same texts.
            """) var types: String?
    @Option(help: "The file's format: csv, tsv or jsonl; by default derived from its name.") var format:
        CatalogueFormat?
    @Option(
        parsing: .unconditional,
        help: """
            The separator of CSV fields: one character, or tab. By default a comma, or the character in a first line such as \
            sep=;
            """)
    var delimiter: String?
    @Flag(help: "Skip bad rows, count them and list the first ones, instead of stopping at the first.")
    var skipBadRows = false
    @Flag(help: "Add an attribute for each column that the entity lacks; existing objects get null.")
    var addColumns = false
    @Option(
        parsing: .unconditionalSingleValue,
        help: """
            A column that names related objects by a unique attribute: COLUMN=Entity.attribute, e.g. \
            author=Author.name. The relationship has the column's name. A new entity gets it, and with --add-columns a \
            stored one that lacks it. Its inverse, if any, is the entity's name with an s, such as books for Book.
            """)
    var relate: [String] = []
    @Flag(help: "Insert related objects that are missing, with the values in the columns of --relate.")
    var createRelated = false
    @OptionGroup var lists: ListsOption
    @Flag(help: "Make the members of nested JSON objects columns, such as author.name.") var flatten = false
    @Option(
        help: ArgumentHelp(
            "The members that lead to the list of objects in a JSON document, such as data.items. By default, a file NAME.json is a list itself.",
            valueName: "members"))
    var path: String?
    @Option(
        help: ArgumentHelp(
            "The table of an SQLite database; by default its only one. Its types and its primary key are taken over.",
            valueName: "name"))
    var table: String?
    @Flag(help: "Delete objects that the file lacks, in one transaction with the import. Needs a key.") var replace =
        false
    @Option(
        help:
            "The maximum share of the existing objects that --replace, or a later copy of a store of Core Data, may delete, in per cent."
    )
    var replaceLimit = 50
    @OptionGroup var coreData: CoreDataOptions
    @OptionGroup var review: ReviewOptions
    @Option(
        help: ArgumentHelp(
            "Write the changes that the import makes to a file, as JSON lines for `apply`. The import is then one transaction.",
            valueName: "file"), completion: .file())
    var deltaOut: String?
    @Option(
        name: .customLong("cache"),
        help: "In a dry run, a cache of an order whose changes are printed; may be repeated.")
    var cacheNames: [String] = []
    @Flag(help: "Exit with code 3 if nothing has changed, or in a dry run, would change.") var ifChanged = false
    @OptionGroup var threads: ThreadsOption
    @OptionGroup var output: OutputOption

    /// The entity of a catalogue.
    var entity: String { entities.first ?? "" }

    /// The store of Core Data that is to be imported; nil for catalogues.
    private var coreDataStore: String? {
        files.count == 1 && table == nil && format == nil && CoreDataOptions.isStore(files[0]) ? files[0] : nil
    }

    /// Whether options are given that are for catalogues only.
    private var hasCatalogueOptions: Bool {
        key != nil || types != nil || delimiter != nil || path != nil || deltaOut != nil || !relate.isEmpty
            || !cacheNames.isEmpty || replace || flatten || skipBadRows || addColumns || createRelated
            || lists.listsAsText || review.dryRun || review.hasRules
    }

    func validate() throws {
        guard (0...100).contains(replaceLimit) else {
            throw ValidationError("--replace-limit must be from 0 to 100 per cent.")
        }
        if coreDataStore != nil {
            if hasCatalogueOptions {
                throw ValidationError(
                    "A store of Core Data is imported with its own model: of the options of other files, only --entity, --replace-limit and --output are for it; --plan writes nothing."
                )
            }
            if ifChanged && coreData.plan {
                throw ValidationError("--plan doesn't compare objects: --if-changed cannot be used with it.")
            }
            return
        }
        if !coreData.isEmpty {
            throw ValidationError(
                "--model, --without, --plan, --strict, --same-identity, --salvage, --decode and --read-all are for one store of Core Data."
            )
        }
        if files.count(where: { $0 == CatalogueInput.standardInput }) > 1 {
            throw ValidationError("Standard input can be read only once.")
        }
        guard entities.count == 1, entity != "" else {
            if entities.count > 1 { throw ValidationError("--entity can be given once.") }
            if entities.isEmpty, let file = files.first, file != CatalogueInput.standardInput,
                !CoreDataOptions.isFile(file)
            {
                throw ValidationError("\(file) cannot be read.")
            }
            throw ValidationError(nameless)
        }
        if replace && key == nil && !isDatabase {
            throw ValidationError("--replace needs --key, which matches rows with objects.")
        }
        if createRelated && relate.isEmpty { throw ValidationError("--create-related needs --relate.") }
        if createRelated && replace {
            throw ValidationError(
                "--create-related cannot be used with --replace, which deletes objects that the file lacks.")
        }
        if !cacheNames.isEmpty && !review.dryRun { throw ValidationError("--cache is for --dry-run.") }
        if let deltaOut, let file = try? FileIdentity(ofPath: deltaOut),
            files.contains(where: { (try? FileIdentity(ofPath: $0)) == file })
        {
            throw ValidationError("--delta-out names the catalogue itself.")
        }
    }

    /// What is wrong if no entity is named.
    private var nameless: String {
        if !entities.isEmpty { return "--entity needs a name." }
        if let file = files.first(where: CoreDataOptions.isWithoutLog) {
            return "\(file) is a database without tables, and what was in its log is lost: \(file)-wal is missing."
        }
        if files.contains(where: CoreDataOptions.isStore) { return "Stores of Core Data are imported one at a time." }
        return "--entity needs a name; only a store of Core Data has its own."
    }

    func run() throws {
        if let coreDataStore {
            try coreData.run(
                store.store, coreDataStore, entities: entities, replaceLimit: replaceLimit, isJSON: output.isJSON,
                ifChanged: ifChanged)
        }
        // Each file is open while its rows are read.
        Descriptors.raiseLimit()
        let start = ContinuousClock.now
        var review: TransactionReview?
        let delta = try deltaOut.map { try ExportFile(at: $0) }
        let outcome = try outcome(of: request()) { container in
            let printers = try cacheNames.map { name in
                let options = try RequestOptions.parse([])
                let definition = try options.definition(ofExisting: name, entity: nil, in: container)
                return BatchPrinter(container, definition, options, cacheName: name, isJSON: output.isJSON)
            }
            review = try self.review.review(printers, of: entity, in: container)
            if review == nil && delta == nil { return nil }
            let model = try container.model()
            return { preview in
                if self.review.dryRun { try review?.preview(preview) } else { try review?.require(preview) }
                if let delta { try writeDelta(of: preview, model, to: delta) }
            }
        }
        // A refused dry run leaves no delta.
        if review?.isBroken != true { try keep(delta) }
        try printReport(ImportReport(outcome, milliseconds: (ContinuousClock.now - start) / .milliseconds(1)))
        try review?.end()
        if ifChanged, outcome.isUnchanged { throw NothingChanged() }
    }

    /// Gives a delta its name.
    private func keep(_ delta: ExportFile?) throws {
        do { try delta?.keep() } catch {
            throw Failure("\(error); \(review.dryRun ? "nothing was changed" : "the import itself is committed")")
        }
    }

    /// Writes the changes of the transaction to a file.
    private func writeDelta(of preview: BatchPreview, _ model: Model, to file: ExportFile) throws {
        let key = key ?? model.entity(named: entity)?.attributes.first(where: \.isUnique)?.name
        var writer = DeltaWriter(key: key)
        try writer.write({ try preview.forEachChange(ofEntity: entity, $1) }, to: file.write)
        if writer.unnamedCount > 0 {
            Output.error(
                "\(Numbers.count(writer.unnamedCount, "object")) without a key cannot be named, and \(writer.unnamedCount == 1 ? "is" : "are") left out of the delta"
            )
        }
        if writer.relatedCount > 0 {
            Output.error(
                "relationships of \(Numbers.count(writer.relatedCount, "object")) changed, which a delta doesn't have")
        }
        let linked = try preview.countOfLinked(ofEntity: entity)
        if linked > 0 {
            Output.error(
                "many-to-many relationships of \(Numbers.count(linked, "object")) changed, which a delta doesn't have")
        }
    }

    private func outcome(
        of request: ImportRequest, _ review: CatalogueImport.Review
    ) throws -> CatalogueImport.Outcome {
        let bar = ProgressBar("importing")
        defer { bar.finish() }
        do {
            return try CatalogueImport(request).run(review: review) { bar.show(rows: $0, fraction: $1) }
        } catch let error as ImportError {
            throw error.asTold
        } catch let error as ImportStopped {
            throw Failure(error.sentence)
        }
    }

    private func printReport(_ report: ImportReport) throws {
        if output.isJSON { return try Output.jsonLine(report) }
        if review.dryRun { Output.write("nothing was changed; would import ") }
        let rows = report.inserted + report.updated + report.unchanged
        let rate = Int(Double(rows) / max(report.milliseconds / 1000, 0.001))
        Output.line(
            "\(Numbers.count(rows, "row")) in \(Numbers.duration(milliseconds: report.milliseconds)) (\(Numbers.grouped(rate))/s): "
                + "\(Numbers.grouped(report.inserted)) inserted, \(Numbers.grouped(report.updated)) updated, "
                + "\(Numbers.grouped(report.unchanged)) unchanged"
                + (report.created.map { ", \(Numbers.grouped($0)) related created" } ?? "")
                + (report.deleted.map { ", \(Numbers.grouped($0)) deleted" } ?? "") + "; commit \(report.commit)")
        if report.badRowCount > 0 {
            let noun = report.badRowCount == 1 ? "row was" : "rows were"
            Output.line("\(Numbers.grouped(report.badRowCount)) bad \(noun) skipped:")
            for bad in report.badRows { Output.line("  \(bad.visible)") }
            if report.badRowCount > report.badRows.count { Output.line("  …") }
        }
    }
}
