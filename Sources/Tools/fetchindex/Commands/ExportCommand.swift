internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexModels
internal import ArgumentParser
internal import FetchIndexCatalogues
internal import FetchIndexEssentials

struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write an entity's records as a catalogue that `import` reads back.",
        discussion: """
            Null is null in JSON lines, and an empty field in CSV and TSV. An empty text is "" in JSON lines and CSV. TSV \
            cannot distinguish it from null, and cannot hold values with tabs or line ends. Data are hexadecimal; dates are \
            ISO 8601 in UTC with full precision. --print-types prints the types for `import --types`.

            If the entity has relationships, or is the destination of one, the column @id has the number of each object. The \
            column of a relationship has the numbers of related objects, with positions if they are ordered: 12, Entity:12, \
            12@c0ff. The last column, @store, identifies the store that assigned the numbers, so that `import` can \
            tell them from another store's. If an attribute has one of these names, the column's name has one more @. \
            Importing the files of all entities into an empty store of the same model restores the objects and their \
            links. Only one of the two sides of a relationship is exported: the to-one side or, if it is many-to-many, \
            the first one.

            Example: fetchindex export books.store books.csv --entity Book --where 'price < 2000'
            """)

    @OptionGroup var store: StoreArgument
    @Argument(help: "The file to write; it is replaced when the export is complete. Standard output by default.")
    var file: String?
    @Option(help: "The entity; required if the store has several.") var entity: String?
    @Option(name: .customLong("where"), parsing: .unconditional, help: "A predicate; all records by default.")
    var predicate: String?
    @Option(help: "Sort keys as in `fetch`; by object number by default.") var sort: String?
    @Option(
        help: "The format: jsonl, csv or tsv; by default derived from the file's name, or jsonl if no file is named.")
    var format: CatalogueFormat?
    @Flag(help: "Skip damaged records and list them; the exit code is 1 if any record is damaged.") var skipDamaged =
        false
    @Flag(help: "Print the attributes' types in the form of `import --types` instead of records.") var printTypes =
        false

    func run() throws {
        guard let format = format ?? (file.map { CatalogueFormat(path: $0) } ?? .jsonl) else {
            throw ValidationError(
                "The name \(file ?? "") does not show the file's format; pass --format csv, tsv or jsonl.")
        }
        let container = try store.open(forWriting: false, ignoringPageChecksums: skipDamaged)
        let model = try container.model()
        let entity = try model.entity(orOnly: entity)
        if printTypes {
            let types = entity.attributes.map { "\(RequestText.quoted($0.name)):\($0.type.name)" }
            return Output.line(types.joined(separator: ","))
        }
        var request = try RequestOptions.parse([])
        (request.predicate, request.sort) = (predicate, sort)
        var definition = try request.definition(of: entity.name)
        // Leaves out the objects of subentities, which may have other attributes.
        definition.includesSubentities = false
        if try model.hierarchy(of: model.number(of: entity.name)).count > 1 {
            Output.error("the objects of subentities of \(entity.name) are not exported; export each subentity as well")
        }
        let file = try file.map { try ExportFile(at: $0) }
        let damaged = try write(definition, entity, container, format) { bytes in
            if let file { return try file.write(bytes) }
            Output.bytes(bytes)
            // Throws if the write failed: the rest would be lost too.
            try Output.flush()
        }
        try file?.keep()
        for object in damaged { Output.error("\(entity.name) \(object.number) is damaged and was left out") }
        if !damaged.isEmpty { throw Failure() }
    }

    private func write(
        _ definition: OrderDefinition, _ entity: Entity, _ container: PersistentContainer, _ format: CatalogueFormat,
        _ out: ([UInt8]) throws -> Void
    ) throws -> [ObjectID] {
        let bar = ProgressBar("exporting")
        defer { bar.finish() }
        var rows = 0
        let total = try container.recordCount()
        var place = "the header"
        do {
            let export = try container.export(ofEntity: entity.name)
            let names = export.hasNumbers ? [RecordKey.numberName(entity.has)] : []
            let storeNames = export.numbersOrigin == nil ? [] : [RecordKey.storeName(entity.has)]
            var writer = try CatalogueWriter(
                format,
                columns: names + entity.attributes.map(\.name) + export.relationships.map(\.name) + storeNames)
            let damaged = try export.forEachRow(of: definition, skippingDamaged: skipDamaged) { row, links in
                place = "object \(row.id.number)"
                if export.hasNumbers { try writer.append(.integer(Int64(row.id.number))) }
                try Self.write(row, of: entity, with: &writer)
                for (relationship, links) in zip(export.relationships, links) {
                    let texts = links.map { $0.catalogueText(in: relationship.destination, export.model) }
                    try writer.append(texts.isEmpty ? .null : .string(texts.joined(separator: " ")))
                }
                if let store = export.numbersOrigin { try writer.append(.string(store.uuidString)) }
                try writer.endRow()
                rows += 1
                guard writer.bytes.count >= CatalogueWriter.pieceLength else { return }
                try out(writer.bytes)
                writer.removeWritten()
                if file != nil { bar.show(rows: rows, of: total) }
            }
            try out(writer.bytes)
            writer.warnOfEmptyTexts()
            return damaged
        } catch let error as CatalogueWriter.Unwritable {
            throw Failure("\(place), \(writtenName(ofColumn: error.column, of: entity, container)): \(error.reason)")
        }
    }

    private static func write(
        _ row: borrowing FetchedRow, of entity: Entity, with writer: inout CatalogueWriter
    ) throws {
        for index in entity.attributes.indices {
            let isText = try row.text(at: index) { try writer.append(text: $0) }
            if !isText { try writer.append(try row.value(at: index)) }
        }
    }

    /// Returns the name of a column, for the message that the format can't hold its value.
    private func writtenName(ofColumn column: Int, of entity: Entity, _ container: PersistentContainer) -> String {
        let hasNumbers = (try? container.export(ofEntity: entity.name).hasNumbers) ?? false
        let names = (hasNumbers ? [RecordKey.numberName(entity.has)] : []) + entity.attributes.map(\.name)
        return names.indices.contains(column) ? names[column] : "a relationship"
    }
}
