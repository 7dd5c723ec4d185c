internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexCoreDataFiles
internal import FetchIndexEssentials
internal import FetchIndexInspection
internal import FetchIndexTerminal

/// Imports a store of Core Data. `fetchindex import` passes its options on.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "import", abstract: "Import a store of Core Data.")

    @Argument var store: String
    @Argument var file: String
    @Option var model: String?
    @Option(parsing: .unconditionalSingleValue) var entity: [String] = []
    @Option(parsing: .unconditionalSingleValue) var without: [String] = []
    @Option var replaceLimit = 50
    @Flag var plan = false
    @Flag var strict = false
    @Flag var sameIdentity = false
    @Flag var salvage = false
    @Flag var decode = false
    @Flag var readAll = false
    @Flag var json = false
    @Flag var ifChanged = false

    func run() throws {
        let start = ContinuousClock.now
        var options = CoreDataImportOptions()
        options.model = model.map { URL(fileURLWithPath: $0) }
        options.entities = entity.isEmpty ? nil : entity
        options.without = without
        options.mostDeleted = replaceLimit
        options.isStrict = strict
        options.hasSameIdentity = sameIdentity
        options.salvages = salvage
        options.decodesArchives = decode
        options.readsAll = readAll
        let url = URL(fileURLWithPath: file)
        if plan {
            let source = try CoreDataStore(contentsOf: url, options: options)
            try printPlan(source)
            if let container = try? PersistentContainer(storeAt: store) { try container.requireImport(of: source) }
            return
        }
        let outcome: CoreDataImport
        if let container = try? PersistentContainer(storeAt: store) {
            outcome = try container.importCoreDataStore(at: url, options: options)
        } else {
            // An import that is refused makes no store.
            let source = try CoreDataStore(contentsOf: url, options: options)
            try source.requireWhole()
            outcome = try PersistentContainer(storeAt: store, creates: true).importCoreDataStore(source)
        }
        let report = Report(outcome, milliseconds: (ContinuousClock.now - start) / .milliseconds(1))
        if json {
            try Output.jsonLine(report)
        } else {
            for difference in outcome.differences { Output.error("\(difference)") }
            Output.line(report.sentence)
        }
        if ifChanged, outcome.counts.changed + outcome.links.changed == 0 { throw NothingChanged() }
    }

    private func printPlan(_ source: CoreDataStore) throws {
        if json {
            try Output.jsonLine(Plan(source))
            return try source.requireWhole()
        }
        for (entity, count) in source.objectCounts.sorted(by: { $0.key < $1.key }) {
            Output.line("\(entity): \(Numbers.count(count, "object"))")
        }
        for difference in source.differences { Output.line("\(difference)") }
        Output.line("nothing was written")
        try source.requireWhole()
    }
}

/// Thrown if nothing has changed and `--if-changed` is given.
struct NothingChanged: Error {}

/// A difference in JSON.
private struct Told: Encodable {
    let kind: String
    let what: String
    let count: Int
    let names: [String]

    init(_ difference: CoreDataDifference) {
        (kind, what, count) = (difference.kind.rawValue, difference.what, difference.count)
        names = Array(difference.names.prefix(3))
    }
}

/// What an import would do, as JSON.
private struct Plan: Encodable {
    let objects: [String: Int]
    let differences: [Told]

    init(_ source: CoreDataStore) { (objects, differences) = (source.objectCounts, source.differences.map(Told.init)) }
}

/// The result of an import, as JSON.
private struct Report: Encodable {
    struct Counts: Encodable {
        let inserted: Int
        let updated: Int
        let unchanged: Int
        let deleted: Int

        init(_ counts: BatchWriter.Counts) {
            (inserted, updated) = (counts.inserted, counts.updated)
            (unchanged, deleted) = (counts.unchanged, counts.deleted)
        }
    }

    let objects: Counts
    let links: Counts
    /// The number of objects whose values were read.
    let read: Int
    let differences: [Told]
    let commit: UInt64
    let milliseconds: Double

    init(_ outcome: CoreDataImport, milliseconds: Double) {
        (objects, links, read) = (Counts(outcome.counts), Counts(outcome.links), outcome.readCount)
        differences = outcome.differences.map(Told.init)
        (commit, self.milliseconds) = (outcome.commit, milliseconds)
    }

    var sentence: String {
        let count = objects.inserted + objects.updated + objects.unchanged
        func list(_ counts: Counts) -> String {
            "\(Numbers.grouped(counts.inserted)) inserted, \(Numbers.grouped(counts.updated)) updated, "
                + "\(Numbers.grouped(counts.unchanged)) unchanged, \(Numbers.grouped(counts.deleted)) deleted"
        }
        let others = [links.inserted, links.updated, links.unchanged, links.deleted]
        let links = others.allSatisfy { $0 == 0 } ? "" : "links of many-to-many relationships: \(list(self.links)); "
        let readSome = read == count ? "" : "read \(Numbers.grouped(read)) by the store's history; "
        return
            "\(Numbers.count(count, "object")) in \(Numbers.duration(milliseconds: milliseconds)): \(list(objects)); "
            + "\(links)\(readSome)commit \(commit)"
    }
}
