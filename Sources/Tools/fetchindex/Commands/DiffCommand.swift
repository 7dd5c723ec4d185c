internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexCatalogues
internal import FetchIndexEssentials
internal import FetchIndexInspection
internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexTerminal

struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Print what changed between two catalogues: files, or entities of stores.",
        discussion: """
            Rows with the same key are compared; a row without a column or member has no value there. Both catalogues are loaded into a temporary store, so nothing else is \
            changed. With --section, --sort or --where, the changes of that order are printed, with places; otherwise the \
            changed rows alone.

            jsonl is the form that `apply` reads: applied to the first catalogue, it makes the second one of it. The order \
            of --section and --sort doesn't matter to it.

            Two stores that both have a cache with a fingerprint are compared by it: only rows that differ are loaded. \
            Make it with `fetch --sort KEY --aggregate fingerprint --cache NAME`; it may have a --where. Then \
            `fetchindex diff books.store copy.store --cache 'by isbn' --if-changed` says quickly whether they are equal.

            Example: fetchindex diff monday.csv tuesday.csv --key isbn --output markdown
            """)

    @Argument(help: "The first catalogue: a file, as for `import`, or a store's folder.", completion: .file())
    var first: String
    @Argument(help: "The second catalogue.", completion: .file()) var second: String
    @Option(help: "The unique column that identifies rows; for a store, by default its first unique attribute.")
    var key: String?
    @Option(help: "The entity of a store; by default its only one. Also the name of a file's rows.") var entity: String?
    @Option(help: "Types of columns, as in `import`; by default inferred from the first catalogue.") var types: String?
    @Option(help: "The files' format: csv, tsv or jsonl; by default derived from their names.")
    var format: CatalogueFormat?
    @Option(parsing: .unconditional, help: "The separator of CSV fields, as in `import`.") var delimiter: String?
    @Option(help: "The table of SQLite databases; by default their only one.") var table: String?
    @Option(help: "A cache of both stores by whose fingerprints they are compared.") var cache: String?
    @OptionGroup var lists: ListsOption
    @OptionGroup var request: RequestOptions
    @Flag(help: "Print only the numbers of changed rows, by section. Needs --section, --sort or --where.")
    var summary = false
    @Flag(help: "Exit with code 3 if nothing has changed.") var ifChanged = false
    @Option(help: "In html and markdown, the maximum number of rows of each kind, and of sections.") var limit = 100
    @OptionGroup var threads: ThreadsOption
    @Option(help: "A table for people, JSON for programs, JSON lines for `apply`, CSV or TSV, or a report.")
    var output = ChangesFormat.table

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit must not be negative.") }
        if summary && (request.isEmpty || output != .table && output != .json) {
            throw ValidationError("A summary is a table or JSON of an order: pass --section, --sort or --where.")
        }
        if request.predicate != nil && output == .jsonl {
            throw ValidationError(
                "A delta deletes rows that no longer meet a condition: --where cannot be used with --output jsonl.")
        }
        if cache != nil {
            if !request.isEmpty || request.aggregate != nil || entity != nil {
                throw ValidationError(
                    "--cache compares the rows of that cache; leave out the other options of requests.")
            }
            if types != nil || format != nil || delimiter != nil || table != nil || lists.listsAsText {
                throw ValidationError("--cache compares two stores; leave out the options of files.")
            }
        }
        if first == CatalogueInput.standardInput && second == CatalogueInput.standardInput {
            throw ValidationError("Standard input can be read only once.")
        }
    }

    /// A catalogue, as a file that `import` reads.
    struct Source {
        let path: String
        let format: CatalogueFormat?
        var key: String?
        var types: String?
        var entity: String?
    }

    func run() throws {
        Descriptors.raiseLimit()
        let folder = TemporaryFolder(named: "diff")
        let sources: [Source]
        if let cache {
            let differing = try differingRows(ofCache: cache, in: folder)
            guard let rows = differing.rows else { return try printEqual(of: differing.entity) }
            sources = rows
        } else {
            sources = try [first, second].map { try source($0, in: folder) }
        }
        guard let key = key ?? sources.lazy.compactMap(\.key).first else {
            throw ValidationError("Pass --key with the unique column that identifies rows.")
        }
        let container = try PersistentContainer(temporaryWith: Model())
        let name = entity ?? sources.lazy.compactMap(\.entity).first ?? "Row"
        let bar = ProgressBar("loading")
        var first: UInt64 = 0
        for (index, source) in sources.enumerated() {
            try load(source, index, into: container, as: name, key, sources, bar)
            if index == 0 { first = try container.newestCommit() }
        }
        bar.finish()
        guard try container.model().entity(named: name) != nil else {
            // Both are empty.
            return try printEqual(of: name)
        }
        try container.setBookmark(named: Self.start, at: .commit(first))
        let isEmpty = try hasPlaces ? printOrder(of: name, container) : printRows(of: name, key, container)
        if ifChanged, isEmpty { throw NothingChanged() }
    }

    /// Whether the changes of an order are printed, with places. A delta has no places.
    private var hasPlaces: Bool { !request.isEmpty && output != .jsonl }

    /// Prints the whole document of two catalogues without differences, whose rows weren't loaded.
    private func printEqual(of name: String) throws {
        if !hasPlaces {
            let report = try ObjectChangeReport(entity: name, as: output, title: title, most: limit)
            try report.end(since: 0, until: 0, subtitle: subtitle)
        } else if summary {
            try SummaryReport(hasSections: request.section != nil).print(ofCache: title, asJSON: output == .json)
        } else if output.isReport {
            var document = ChangeDocument(title: title, subtitle: "", most: limit)
            document.end(subtitle: subtitle)
            try document.print(as: output)
        } else {
            try print(ChangeReport(.hit, .zero, ChangeDetails(entity: name)))
        }
        if ifChanged { throw NothingChanged() }
    }

    /// Prints the changes of an order as a table, JSON, CSV or TSV.
    private func print(_ report: ChangeReport) throws {
        if let format = output.catalogue { return try report.printRows(as: format) }
        if output == .json { return try report.printJSON() }
        try report.printLines()
    }

    /// Loads a catalogue. The second one replaces the first one: rows lose the values that they lack.
    private func load(
        _ source: Source, _ index: Int, into container: PersistentContainer, as name: String, _ key: String,
        _ sources: [Source], _ bar: ProgressBar
    ) throws {
        var request = ImportRequest(
            store: container.path, files: [source.path], format: try format(of: source), entity: name)
        request.key = key
        (request.isDatabase, request.table) = (isDatabase(source), table)
        if source.format == nil, CatalogueFormat.isDocument(path: source.path) { request.listPath = [] }
        request.delimiter = try delimiter.map { try CatalogueInput.delimiter(option: $0, request.format) }
        request.areListsText = lists.listsAsText
        request.threads = threads.count
        let isFirst = try container.model().entity(named: name) == nil
        if isFirst {
            request.types = try GivenTypes(option: types ?? sources.lazy.compactMap(\.types).first ?? "")
        } else {
            request.addsColumns = true
            request.clearsMissing = true
            request.mostDeleted = 100
        }
        do {
            _ = try CatalogueImport(request).run { bar.show(rows: $0, fraction: $1) }
        } catch let error as UnreadableFile where error.isEmpty {
            if !isFirst { try BatchWriter(container, entity: name).deleteAll() }
        } catch let error as ImportStopped {
            let advice =
                index == 1 && types == nil && source.entity == nil
                ? "; --types gives both catalogues the same types" : ""
            // The rows of a store are in a temporary file.
            let name = index == 0 ? self.first : second
            throw Failure("\("\(error.cause)".replacing(source.path, with: name))\(advice)")
        } catch let error as ImportError { throw error.asTold }
    }

    private static let start = "first"

    private func isDatabase(_ source: Source) -> Bool {
        source.format == nil && CatalogueFormat.isDatabase(path: source.path)
    }

    private func format(of source: Source) throws -> CatalogueFormat {
        if isDatabase(source) { return .csv }
        if source.format == nil, CatalogueFormat.isDocument(path: source.path) { return .jsonl }
        if let format = source.format ?? CatalogueFormat(path: source.path) { return format }
        if delimiter != nil { return .csv }
        throw ValidationError(
            "The name \(source.path) does not show the file's format; pass --format csv, tsv or jsonl.")
    }

    private func printRows(of name: String, _ key: String, _ container: PersistentContainer) throws -> Bool {
        if output == .jsonl {
            var writer = DeltaWriter(key: key)
            try writer.write(
                { try container.forEachChange(ofEntity: name, since: .bookmark(Self.start), $0) },
                to: { bytes in
                    Output.bytes(bytes)
                    try Output.flush()
                })
            return writer.count == 0
        }
        let report = try ObjectChangeReport(entity: name, as: output, title: title, most: limit)
        let (first, last) = try container.forEachChange(
            ofEntity: name, since: .bookmark(Self.start), report.print)
        try report.end(since: first, until: last, subtitle: subtitle)
        return report.count == 0
    }

    private func printOrder(of name: String, _ container: PersistentContainer) throws -> Bool {
        let definition = try request.definition(of: name)
        let bar = ProgressBar("sorting")
        let start = ContinuousClock.now
        return try container.withOrder(
            definition, request.orderOptions(cacheName: nil, bar, author: "diff")
        ) { (order: FetchedOrder) in
            let first = try order.commit(of: .bookmark(Self.start))
            let change = try order.changes(since: .commit(first))
            bar.finish()
            if output.isReport {
                var document = ChangeDocument(title: title, subtitle: subtitle, most: limit)
                try document.add(change, order, definition, since: first)
                try document.print(as: output)
                return change.isEmpty
            }
            let details = ChangeDetails(definition, order, since: first, withValues: output != .table)
            let report = ChangeReport(change, ContinuousClock.now - start, details)
            if summary {
                try report.summary(of: change, order).print(ofCache: title, asJSON: output == .json)
            } else {
                try print(report)
            }
            return change.isEmpty
        }
    }

    private var title: String { "\(Self.name(of: first)) → \(Self.name(of: second))" }

    private var subtitle: String {
        let parts = [("where", request.predicate), ("section", request.section), ("sort", request.sort)]
        return parts.compactMap { name, text in text.map { "\(name) \($0.visible)" } }.joined(separator: ", ")
    }

    private static func name(of path: String) -> String {
        String(path.split(separator: "/").last ?? "").visible
    }
}

extension BatchWriter {
    /// Deletes all objects of the writer's entity.
    fileprivate func deleteAll() throws {
        var numbers: [UInt64] = []
        try forEachNumber { number in
            numbers.append(number)
            return true
        }
        for number in numbers {
            if let object = try object(number: number) { try delete(object) }
        }
        try commit()
    }
}
