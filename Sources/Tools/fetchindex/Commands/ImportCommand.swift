internal import FetchIndex
internal import FetchIndexModels
internal import ArgumentParser
internal import FetchIndexCatalogues
internal import FetchIndexPlatform
internal import FetchIndexInspection

extension CatalogueFormat: ExpressibleByArgument {}

struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import a catalogue file, in transactions; with --key, an interrupted import can be run again.",
        discussion: """
            Files are UTF-8. Lines end with LF, CRLF or CR, and have at most 64 MiB and 32,768 fields. CSV quotes fields \
            as in RFC 4180; TSV has no quotes. A line of JSON is one flat object. A line with a repeated member is a bad \
            row, and so is one with lists or objects as values, unless --lists-as-text is given.

            If a column or a member is absent, stored objects keep its value and their related objects. Null and empty \
            fields clear them.
            """)

    /// The number of rows in a transaction.
    private static let transactionLength = 50_000

    @OptionGroup var store: StoreArgument
    @Argument(help: "The catalogue: CSV, TSV or JSON lines, also compressed with gzip or zstd; - is standard input.")
    var file: String
    @Option(help: "The entity; created if missing.") var entity: String
    @Option(help: "The unique attribute that identifies objects: a row updates the object with the same value.")
    var key: String?
    @Option(
        help: """
            Types of attributes, e.g. name:string,price:integer; *:string is for all others. By default types are inferred \
            from all rows, so that no text is lost and different texts stay different.
            """) var types: String?
    @Option(help: "csv, tsv or jsonl; by default the one that the file's name ends with.") var format: CatalogueFormat?
    @Option(
        parsing: .unconditional,
        help: """
            The separator of CSV fields: one character, or tab. By default a comma, or the one that a first line like sep=; \
            gives.
            """)
    var delimiter: String?
    @Flag(help: "Count and list bad rows instead of stopping at the first.") var skipBadRows = false
    @Flag(help: "Add missing attributes to the entity; existing objects have null.") var addColumns = false
    @Option(
        parsing: .unconditionalSingleValue,
        help: """
            A column that names related objects by a unique attribute: COLUMN=Entity.attribute. A new relationship has the \
            column's name, and its inverse the plural of the file's entity (author of Book: books).
            """)
    var relate: [String] = []
    @Flag(help: "Insert missing related objects, with the values of the columns of --relate.")
    var createRelated = false
    @OptionGroup var lists: ListsOption
    @Flag(help: "Delete objects that the file lacks, in one transaction with the import. Needs --key.") var replace =
        false
    @Option(help: "The maximum share of the existing objects that --replace may delete, in per cent.")
    var replaceLimit = 50
    @OptionGroup var threads: ThreadsOption
    @OptionGroup var output: OutputOption

    struct Report: Encodable {
        var inserted = 0
        var updated = 0
        var unchanged = 0
        /// Nil without `--replace`.
        var deleted: Int?
        /// The number of missing related objects that were inserted; nil without `--create-related`.
        var created: Int?
        var badRows: [String] = []
        var badRowCount = 0
        var commit: UInt64 = 0
        var milliseconds = 0.0

        mutating func add(_ bad: BadInput) {
            if badRows.count < BadRows.mostListed { badRows.append(bad.description) }
        }
    }

    func validate() throws {
        if entity.isEmpty { throw ValidationError("--entity needs a name.") }
        if replace && key == nil {
            throw ValidationError("--replace needs --key, which matches rows with objects.")
        }
        if createRelated && relate.isEmpty { throw ValidationError("--create-related needs --relate.") }
        if createRelated && replace {
            throw ValidationError("--replace deletes what the file lacks: --create-related cannot be used with it.")
        }
        guard (0...100).contains(replaceLimit) else {
            throw ValidationError("--replace-limit must be from 0 to 100 per cent.")
        }
    }

    func run() throws {
        let start = ContinuousClock.now
        // Only CSV has a delimiter, so the option implies the format.
        guard let format = format ?? CatalogueFormat(path: file) ?? (delimiter == nil ? nil : .csv) else {
            throw ValidationError("The name \(file) does not show its format; pass --format csv, tsv or jsonl.")
        }
        let source: any RowSource
        var input = try CatalogueInput.opening(file)
        input.delimiter = try delimiter.map { try Self.delimiter($0, format) }
        let told = try toldColumns()
        do { source = try format.open(input, told) } catch let error as UnreadableFile
            where error.isEmpty && !replace
        {
            return try importNothing(error, start)
        }
        let types = try givenTypes(source.columns)
        if let key, !source.columns.contains(key) { throw unknownColumn(key, source.columns) }
        let relations = try relate.map { try RelateOption($0) }
        for relation in relations where !source.columns.contains(relation.column) {
            throw unknownColumn(relation.column, source.columns)
        }
        let container = try PersistentContainer(storeAt: store.store, creates: true, threads: threads.count)
        try prepareRelated(relations, container)
        try prepareEntity(
            container, columns: source.columns, relations, given: types,
            rows: { try opened(format, input, told) },
            inferred: { asked in
                // Opening JSON lines has already read them all for their members, and with them the types.
                let rows = source is JSONLinesSource ? source : try opened(format, input, told)
                return try rows.inferTypes(of: asked, key: key)
            })
        input.endSampling()
        let writer = try BatchWriter(container, entity: entity, key: key, author: "import")
        var report = Report()
        let count = try container.count(ofEntity: entity)
        source.decompressesAhead = threads.count > 1
        let related = try RelatedColumns(
            source.columns, to: writer.entity, in: container.pinnedState().model, relations,
            insertsMissing: createRelated, NumberOwner(in: container, isKeyed: key != nil),
            isJSON: format == .jsonl)
        // The writer stops deferring when a row with links arrives.
        if !replace { writer.deferUniqueKeys() }
        try importRows(of: source, related, with: writer, replacing: count, &report)
        if createRelated { report.created = related.columns.reduce(0) { $0 + $1.insertedCount } }
        let counts = writer.counts
        (report.inserted, report.updated, report.unchanged) = (counts.inserted, counts.updated, counts.unchanged)
        try finish(&report, container, start)
    }

    /// Imports an empty file, which has zero rows. The store must have the entity, or `--types` must define it.
    private func importNothing(_ empty: UnreadableFile, _ start: ContinuousClock.Instant) throws {
        let given = try givenTypes(nil)
        let container: PersistentContainer
        do {
            container = try PersistentContainer(storeAt: store.store, creates: !given.isEmpty)
        } catch StoreError.missing {
            throw empty  // The empty file is the more helpful error.
        }
        let stored = try container.model().entity(named: entity)
        if stored == nil && given.isEmpty { throw empty }
        if let key, !given.named.contains(where: { $0.name == key }), stored?.slot(of: key) == nil {
            throw stored?.unknownAttribute(key) ?? unknownColumn(key, given.named.map(\.name))
        }
        try prepareEntity(container, columns: [], [], given: given, rows: { throw empty }, inferred: { _ in [] })
        var report = Report()
        try finish(&report, container, start)
    }

    private func finish(
        _ report: inout Report, _ container: PersistentContainer, _ start: ContinuousClock.Instant
    ) throws {
        report.commit = try container.newestCommit()
        report.milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        try printReport(report)
    }

    /// Imports the rows: one thread reads and converts them, another one writes them, and a third one decompresses the file.
    private func importRows(
        of source: any RowSource, _ related: RelatedColumns, with writer: BatchWriter, replacing count: Int,
        _ report: inout Report
    ) throws {
        var seen = SeenObjects()
        let converter = try RowConverter(
            source.columns, to: writer.entity, file: file, related, mayUpdate: key != nil || related.idPlace != nil,
            isJSON: source is JSONLinesSource)
        var transaction = ImportTransaction(
            writer, related.columns, related.owner, resolvesInFile: related.resolvesInFile, mayWait: !replace)
        let bar = ProgressBar("importing")
        // Copied, because reading a flag of the parser costs more than a row.
        let (replaces, skipsBadRows) = (replace, skipBadRows)
        // Numbers of rows: read from the file, put into the store, and put by ended transactions.
        var rows = (read: 0, put: 0, ended: 0)
        func note(_ number: UInt64) { if replaces { seen.insert(number) } }
        var refused = 0
        func refuse(_ line: Int, _ error: StoreError) throws {
            let bad = BadInput(file: file, line: line, reason: error.description)
            guard skipsBadRows else { throw bad }
            refused += 1
            report.badRowCount += 1
            report.add(bad)
        }
        defer { bar.finish() }
        do {
            try Threads.pipe(threads.count, capacity: 2) { deliver in
                try read(source, converter, for: writer, deliver)
            } consume: { (batch: ReadRows) in
                for bad in batch.bad.listed { report.add(bad) }
                report.badRowCount += batch.bad.count
                let refusedBefore = refused
                try transaction.put(batch.rows, refused: refuse, done: note)
                rows.put += batch.rows.count - (refused - refusedBefore)
                rows.read += batch.rowCount
                // With --replace, the import is one transaction, which a refused row undoes.
                if !replace && rows.put - rows.ended >= Self.transactionLength {
                    try transaction.end(refused: refuse, done: note)
                    rows.ended = rows.put
                }
                // The length of a pipe is unknown.
                let total = batch.progress.total == 0 ? .infinity : Double(batch.progress.total)
                bar.show(rows: rows.read, fraction: Double(batch.progress.done) / total)
            }
            for (line, error) in try transaction.finish(refused: refuse, done: note) {
                let bad = BadInput(file: file, line: line, reason: error.description)
                guard skipBadRows else {
                    if !replace { try writer.commit() }
                    throw Failure(replace ? "\(bad)" : "\(bad); the rows are saved without such links")
                }
                report.badRowCount += 1
                report.add(bad)
            }
            if !replace { try writer.commit() }
        } catch {
            if replace {
                writer.rollback()
                throw Failure("\(error)\(otherType(than: error, objects: count)); --replace changed nothing")
            }
            var error = error
            // The rows before the bad row, or before the place where the file becomes unreadable, are valid and are saved.
            var unlinked = 0
            if error is BadInput || error is UnreadableFile {
                do {
                    unlinked = try transaction.finish(refused: refuse, done: note).count
                    try writer.commit()
                } catch let failure { error = failure }
            }
            switch error {
            case is BadInput, is UnreadableFile, StoreError.notSaved:
                let counts = writer.savedCounts
                let saved = counts.inserted + counts.updated + counts.unchanged
                let way = otherType(than: error, objects: count + saved)
                let told = "\(Numbers.count(saved, "row")) before it \(saved == 1 ? "is" : "are") saved"
                let lost = unlinked == 0 ? "" : ", without \(Numbers.count(unlinked, "link")) to rows after it"
                throw Failure("\(error)\(way); \(told)\(lost)")
            default: throw error
            }
        }
        if replace {
            report.deleted = try deleteOthers(than: seen, of: count, with: writer, report)
            try writer.commit()
        }
    }

    /// Returns the advice to import the column as texts. It is empty if the entity has objects: their type can't change then.
    private func otherType(than error: any Error, objects count: Int) -> String {
        guard count == 0, let bad = error as? BadInput, bad.isOfType, let name = bad.columnName else { return "" }
        return "; --types \(RequestText.quoted(name)):string imports the column as text"
    }

    private func read(
        _ source: any RowSource, _ converter: RowConverter, for writer: BatchWriter,
        _ deliver: (consuming ReadRows) throws -> Void
    ) throws {
        var converter = converter
        var rows = RowBatch()
        var badRows = BadRows()
        let skipsBadRows = skipBadRows
        func note(_ bad: BadInput) throws {
            guard skipsBadRows else { throw bad }
            badRows.note(bad)
            if badRows.isFull { try deliverBatch() }
        }
        func deliverBatch() throws {
            try writer.prepare(&rows)
            let full = ReadRows(rows: rows, bad: badRows, progress: source.progress)
            rows = RowBatch(likeOneOf: full.rows.count, byteCount: full.rows.byteCount)
            badRows = BadRows()
            try deliver(full)
        }
        do {
            try source.forEachRow(
                { row in
                    let isFull: Bool
                    do { isFull = try converter.append(row, to: &rows) } catch let bad as BadInput {
                        return try note(bad)
                    }
                    if isFull { try deliverBatch() }
                }, bad: note)
        } catch let error where error is BadInput || error is UnreadableFile {
            // Delivers the rows before the bad one.
            try deliverBatch()
            throw error
        }
        try deliverBatch()
    }

    private func printReport(_ report: Report) throws {
        if output.isJSON { return try Output.jsonLine(report) }
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
