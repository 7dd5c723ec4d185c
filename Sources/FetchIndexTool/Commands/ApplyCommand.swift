internal import Administration
internal import Records
internal import OrderCaches
internal import Models
internal import ArgumentParser
internal import Catalogues
internal import FetchIndex
internal import Wording

struct ApplyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Apply changes from JSON lines, transaction by transaction.",
        discussion: """
            Each line is {"op":"insert|update|delete","key":…,"values":{…}}; a blank line ends a transaction. \
            With --cache, the change of that order is printed for each transaction.
            """)

    @OptionGroup var store: StoreArgument
    @Argument(help: "The changes, a JSON object a line.") var file: String
    @Option(help: "The entity.") var entity: String
    @Option(
        help:
            "The unique attribute that \"key\" holds a value of; by default the entity's own. Without one it is the object's number."
    )
    var key: String?
    @Option(name: .customLong("cache"), help: "The order whose changes are printed.") var cacheName: String?
    @OptionGroup var request: RequestOptions
    @OptionGroup var output: OutputOption

    func run() throws {
        let container = try store.open()
        guard let stored = try container.model().entity(named: entity) else { throw StoreError.unknownEntity(entity) }
        let keyName = key ?? stored.attributes.first(where: \.isUnique)?.name
        let writer = try BatchWriter(container, entity: entity, key: keyName, author: "apply")
        let applier = ChangeApplier(writer, key: keyName, file: file)
        var printer: BatchPrinter?
        if let cacheName {
            // The order of a base entity has the rows of its subentities.
            let identity = try? CacheDirectory.header(cacheName, in: container.store.snapshot())?.identity
            let isOfBase =
                try identity.map { try $0.includesSubentities && container.model().isSubentity(stored, of: $0.entity) }
            let asked = isOfBase ?? false ? nil : entity
            let wanted =
                try identity != nil
                ? request.definition(ofExisting: cacheName, entity: asked, in: container)
                : request.definition(of: asked, cache: cacheName, in: container)
            guard let definition = wanted else { throw StoreError.unknownCache(cacheName) }
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
                    try applier.apply(try ChangeLine(line, number, in: file), number)
                }, tooLong: { throw $0 })
            try endTransaction()
            try Output.settle()
            try writer.storeTold()
        } catch let error as BadInput {
            try Output.settle()
            try writer.storeTold()
            // The open transaction is dropped; those before it are done.
            let done = transactions == 1 ? "1 transaction before it is" : "\(transactions) transactions before it are"
            throw Failure("\(error); \(done) applied")
        } catch {
            // What could be printed is not told again.
            if (try? Output.settle()) != nil { try? writer.storeTold() }
            throw error
        }
        try printSummary(writer.counts, transactions)
    }

    private func printSummary(_ counts: BatchWriter.Counts, _ transactions: Int) throws {
        if output.isJSON {
            if cacheName != nil { return }
            let summary = [
                "transactions": transactions, "inserted": counts.inserted, "updated": counts.updated,
                "unchanged": counts.unchanged, "deleted": counts.deleted,
            ]
            return try Output.jsonLine(summary)
        }
        Output.line(
            "\(Numbers.count(transactions, "transaction")): \(Numbers.grouped(counts.inserted)) inserted, "
                + "\(Numbers.grouped(counts.updated)) updated, \(Numbers.grouped(counts.unchanged)) unchanged, "
                + "\(Numbers.grouped(counts.deleted)) deleted")
    }
}

/// Applies lines of changes to the transaction being written.
private final class ChangeApplier {
    private let writer: BatchWriter
    private let key: String?
    private let file: String

    init(_ writer: BatchWriter, key: String?, file: String) {
        self.writer = writer
        self.key = key
        self.file = file
    }

    func apply(_ change: ChangeLine, _ number: Int) throws {
        func bad(_ reason: String) -> BadInput { BadInput(file: file, line: number, reason: reason) }
        do {
            switch change.operation {
            case .insert: try insert(change, bad)
            case .update:
                let object = try find(change, bad)
                var values = try writer.values(of: object)
                try set(change.values, in: &values, bad)
                try writer.update(object, values)
            case .delete: try writer.delete(try find(change, bad))
            }
        } catch let error as StoreError where error.isOfValues {
            throw bad(error.description)
        }
    }

    private func insert(_ change: ChangeLine, _ bad: (String) -> BadInput) throws {
        var values = writer.entity.attributes.map(\.defaultValue)
        if let key, let scalar = change.key { try set([key: scalar], in: &values, bad) }
        try set(change.values, in: &values, bad)
        try writer.insert(values)
    }

    private func find(_ change: ChangeLine, _ bad: (String) -> BadInput) throws -> ObjectID {
        guard let scalar = change.key else { throw bad("\"\(change.operation)\" needs a \"key\"") }
        if let key, let slot = writer.entity.attributes.firstIndex(where: { $0.name == key }) {
            guard let value = scalar.value(as: writer.entity.attributes[slot].type), !value.isNull else {
                throw bad("\"key\" is not \(writer.entity.attributes[slot].type.nameWithArticle)")
            }
            guard let object = try writer.object(key: value) else {
                throw bad("there is no \(writer.entity.name) with \(key) \"\(value.description.excerpt)\"")
            }
            return object
        }
        guard case .integer(let number) = scalar.value(as: .integer),
            let object = try writer.object(number: UInt64(clamping: number))
        else {
            throw bad("there is no \(writer.entity.name) with number \(scalar.text.excerpt)")
        }
        return object
    }

    private func set(_ given: [String: JSONScalar], in values: inout [Value], _ bad: (String) -> BadInput) throws {
        for (name, scalar) in given.sorted(by: { $0.key < $1.key }) {
            guard let slot = writer.entity.attributes.firstIndex(where: { $0.name == name }) else {
                throw bad("\(writer.entity.name) has no attribute \"\(name.excerpt)\"")
            }
            let type = writer.entity.attributes[slot].type
            guard let value = scalar.value(as: type) else {
                throw bad("\"\(scalar.text.excerpt)\" for \(name) is not \(type.nameWithArticle)")
            }
            values[slot] = value
        }
    }
}

/// Prints what each transaction changes in an order.
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

    /// Builds the order's cache if it is missing. A cache that is behind stays so: the first batch has what changed since it was current.
    func establish() throws {
        let bar = ProgressBar("building")
        try container.establishCache(
            definition, request.orderOptions(cacheName: cacheName, bar, author: "apply"))
        bar.finish()
    }

    /// Commits a transaction, and prints what changed in the order. The cache takes that with the next transaction, or at the end.
    func commit(_ writer: BatchWriter) throws {
        let start = ContinuousClock.now
        _ = try writer.commit(bringing: definition, cacheName: cacheName) { outcome, since in
            let duration = ContinuousClock.now - start
            var details = ChangeDetails(entity: definition.entity)
            details.titles = titles
            // The changes are told whether or not their objects can be read.
            details.names = { [container] in (try? container.names(of: $0, since: since)) ?? [:] }
            try print(ChangeReport(outcome, duration, details))
            // A reader of the output sees each transaction when it is done. To wait for the disk too would cost as much as the commit.
            try Output.flush()
        }
    }

    private func print(_ report: ChangeReport) throws {
        if isJSON { return try Output.jsonLine(report) }
        for line in report.lines { Output.line(line) }
        Output.line("")
    }
}
