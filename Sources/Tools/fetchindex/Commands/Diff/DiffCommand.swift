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
            Rows with the same key are compared; a row without a column or member has no value there. With --section, \
            --sort or --where, the changes of that order are printed, with places; otherwise the changed rows alone.

            jsonl is the form that `apply` reads: applied to the first catalogue, it makes the second one of it. The order \
            of --section and --sort doesn't matter to it.

            Two stores that both have a cache with a fingerprint, made by `fetch --sort KEY --aggregate fingerprint \
            --cache NAME`, are compared by it: only rows that differ are read. `fetchindex diff books.store copy.store \
            --if-changed` then says quickly whether they are equal. --cache names a cache with a --where.

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
    @Option(help: "A cache of both stores by whose fingerprints they are compared; by default one of all rows, if any.")
    var cache: String?
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
            if hasFileOptions {
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
        /// The numbers of a store's objects, in the order of the file's rows.
        var numbers: [UInt64] = []
        /// The number of the store's next object; nil for a file.
        var nextNumber: UInt64?
    }

    func run() throws {
        Descriptors.raiseLimit()
        let folder = TemporaryFolder(named: "diff")
        let found = try differingRows(in: folder)
        if let found, found.rows.isEmpty {
            try printRows(of: found.entity, nil, nil, isFirstEmpty: found.isFirstEmpty)
            if ifChanged { throw NothingChanged() }
            return
        }
        let sources = try found?.rows ?? [first, second].map { try source($0, in: folder) }
        guard let key = key ?? sources.lazy.compactMap(\.key).first else {
            throw ValidationError("Pass --key with the unique column that identifies rows.")
        }
        let container = try PersistentContainer(temporaryWith: Model())
        let name = entity ?? sources.lazy.compactMap(\.entity).first ?? "Row"
        let isEqual: Bool
        if hasPlaces {
            isEqual = try printOrder(of: name, sources, key, in: container)
        } else {
            let comparison = try comparison(of: sources, as: name, key, in: container)
            try printRows(
                of: name, key, comparison, isFirstEmpty: found?.isFirstEmpty ?? (comparison?.isFirstEmpty ?? true))
            isEqual = comparison?.isEmpty ?? true
        }
        if ifChanged, isEqual { throw NothingChanged() }
    }

    /// Whether the changes of an order are printed, with places. A delta has no places.
    var hasPlaces: Bool { !request.isEmpty && output != .jsonl }

    // MARK: Rows

    /// Compares two files; nil if both are empty.
    private func comparison(
        of sources: [Source], as name: String, _ key: String, in container: PersistentContainer
    ) throws -> RowComparison? {
        let types = try types(of: sources)
        let inputs = try sources.map { source in
            var request = try importRequest(of: source, into: container, as: name, key)
            request.types = types
            var input = CatalogueComparison.Input(request)
            input.numbers = source.numbers
            return input
        }
        let bar = ProgressBar("comparing")
        defer { bar.finish() }
        do {
            let comparison = try CatalogueComparison(inputs[0], inputs[1], in: container).run(
                nextNumber: sources[0].nextNumber
            ) { bar.show(rows: $0, fraction: $1) }
            bar.finish()
            if let comparison { warnOfRepeatedKeys(key, comparison) }
            return comparison
        } catch let bad as BadInput {
            throw failure(bad, sources)
        } catch ModelError.unknownAttribute(let file, let name, let near) {
            throw Failure("\(file.visible) has no column \"\(name)\"\(near.hint)")
        } catch let error as ImportError { throw error.asTold }
    }

    private func warnOfRepeatedKeys(_ key: String, _ comparison: RowComparison) {
        let counts = comparison.repeatedCounts
        for (path, count) in [(first, counts.first), (second, counts.second)] where count > 0 {
            Output.error(
                "\(Self.name(of: path)): \(Numbers.count(count, "row")) \(count == 1 ? "has" : "have") the \(key.visible) of a later row, which counts instead"
            )
        }
    }

    /// Prints the changed rows; none if the comparison is nil.
    private func printRows(
        of name: String, _ key: String?, _ comparison: RowComparison?, isFirstEmpty: Bool
    ) throws {
        if output == .jsonl {
            var writer = DeltaWriter(key: key)
            return try writer.write(
                { try comparison?.forEachChange(of: $0, $1) },
                to: { bytes in
                    Output.bytes(bytes)
                    try Output.flush()
                })
        }
        let report = try ObjectChangeReport(entity: name, as: output, title: title, most: limit)
        try comparison?.forEachChange(report.print)
        // The commits that a store would have after each catalogue.
        let since: UInt64 = isFirstEmpty ? 0 : 1
        try report.end(since: since, until: since + (report.count == 0 ? 0 : 1), subtitle: subtitle)
    }

    // MARK: Files

    /// Returns how the rows of a catalogue are read.
    func importRequest(
        of source: Source, into container: PersistentContainer, as name: String, _ key: String
    ) throws -> ImportRequest {
        var request = ImportRequest(
            store: container.path, files: [source.path], format: try format(of: source), entity: name)
        request.key = key
        (request.isDatabase, request.table) = (isDatabase(source), table)
        if source.format == nil, CatalogueFormat.isDocument(path: source.path) { request.listPath = [] }
        request.delimiter = try delimiter.map { try CatalogueInput.delimiter(option: $0, request.format) }
        request.areListsText = lists.listsAsText
        request.threads = threads.count
        return request
    }

    /// The types that `--types` gives; without it, the types of the first catalogue that is a store.
    func types(of sources: [Source]) throws -> GivenTypes {
        try GivenTypes(option: types ?? sources.lazy.compactMap(\.types).first ?? "")
    }

    /// The error for a row of a catalogue.
    func failure(_ error: any Error, _ sources: [Source]) -> Failure {
        let bad = error as? BadInput
        let isOfSecond = bad?.file == CatalogueInput.name(of: sources[1].path) && sources[1].path != sources[0].path
        let advice =
            isOfSecond && bad?.isOfType == true && types == nil && sources[1].entity == nil
            ? "; --types gives both catalogues the same types" : ""
        // The rows of a store are in a temporary file.
        let text = zip(sources, [first, second]).reduce("\(error)") { $0.replacing($1.0.path, with: $1.1) }
        return Failure("\(text)\(advice)")
    }

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

    // MARK: Titles

    var title: String { "\(Self.name(of: first)) → \(Self.name(of: second))" }

    var subtitle: String {
        let parts = [("where", request.predicate), ("section", request.section), ("sort", request.sort)]
        return parts.compactMap { name, text in text.map { "\(name) \($0.visible)" } }.joined(separator: ", ")
    }

    private static func name(of path: String) -> String {
        String(path.split(separator: "/").last ?? "").visible
    }
}
