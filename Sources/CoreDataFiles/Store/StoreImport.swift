internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexPlatform

/// The store of Core Data whose copy a store's objects are.
private struct ImportedStore: Codable {
    let identifier: UUID?
    /// Whether all objects have arrived. If the first import was interrupted, another one completes it.
    let isWhole: Bool
}

/// Writes the objects of a store of Core Data into a container, in one transaction.
struct StoreImport {
    private let source: CoreDataStore
    private let reader: ObjectReader
    private let writer: ObjectGraphWriter
    private let tables: [GraphTable]
    /// The places of the entities in the reader's schema, by name.
    private let places: [String: Int]
    /// The numbers of the entities in the container, by place.
    private let entityNumbers: [Int: Int]

    /// Begins the transaction. Throws `CoreDataFileError` if the store may not be imported.
    init(_ source: CoreDataStore, into container: PersistentContainer) throws {
        (self.source, reader) = (source, source.reader)
        try source.requireWhole()
        try Self.requireSameStore(source, in: container)
        writer = try ObjectGraphWriter(
            in: container, author: source.url.lastPathComponent,
            migratingTo: try source.model.replacing(container.model()))
        let places = Dictionary(reader.schema.places.enumerated().map { ($1.entity, $0) }) { first, _ in first }
        let entities = source.model.entities.filter { !$0.isAbstract && places[$0.name] != nil }
        tables = try writer.tables(of: entities.map(\.name))
        entityNumbers = Dictionary(tables.map { (places[$0.entity.name] ?? 0, $0.entityNumber) }) { first, _ in first }
        self.places = places
    }

    private static func refusal(
        of source: CoreDataStore, _ reason: String, _ remedy: CoreDataFileError.Remedy? = nil
    ) -> CoreDataFileError {
        CoreDataFileError(path: source.url.path, reason: reason, remedy: remedy)
    }

    private static func requireSameStore(_ source: CoreDataStore, in container: PersistentContainer) throws {
        guard !source.options.hasSameIdentity, let known = try container.graphSource(as: ImportedStore.self),
            known.identifier != source.identifier
        else { return }
        func name(_ identifier: UUID?) -> String { identifier?.uuidString ?? "without an identifier" }
        throw refusal(
            of: source, "it is the store \(name(source.identifier)), but the imported one is \(name(known.identifier))",
            .hasSameIdentity)
    }

    /// Writes all objects and links, and commits.
    func run() throws -> CoreDataImport {
        if tables.contains(where: \.isNew) { try noteSource(isWhole: false) }
        try deleteMissing()
        try Threads.pipe(Threads.available, capacity: 2) { deliver in
            for table in tables { try readRows(of: table, deliver) }
        } consume: { batch in
            let entity = batch.table.entity.name
            do { try writer.write(batch) } catch let error as ObjectGraphWriter.ReturnedObject {
                throw Self.refusal(
                    of: source,
                    "it has \(entity)/p\(error.number), which was deleted since: import an earlier copy into another store"
                )
            }
        }
        for join in reader.schema.joins { try writeLinks(of: join) }
        if let identifier = source.identifier { try writer.noteNumbers(of: identifier, tables) }
        try noteSource(isWhole: true)
        let commit = try writer.commit()
        return CoreDataImport(
            counts: writer.counts, links: writer.joinCounts, differences: source.differences, commit: commit)
    }

    private func noteSource(isWhole: Bool) throws {
        try writer.setSource(ImportedStore(identifier: source.identifier, isWhole: isWhole))
    }

    private func place(of table: GraphTable) -> Int { places[table.entity.name] ?? 0 }

    private func key(of object: ObjectReader.Object) -> RecordKey {
        RecordKey(entity: entityNumbers[object.place] ?? 0, number: object.number)
    }

    /// Whether the inverse of a relationship is ordered.
    private func isInverseOrdered(_ relationship: RelationshipDescription?) -> Bool {
        guard let relationship else { return false }
        return writer.model.entity(named: relationship.destination)?.relationship(named: relationship.inverse)?
            .description.isOrdered ?? false
    }

    private func deleteMissing() throws {
        var (gone, all) = (0, 0)
        let missing = try tables.map { table in
            let found = try writer.missing(from: reader.numbers[place(of: table)], table)
            (gone, all) = (gone + found.missing.count, all + found.all)
            return found.missing
        }
        let most = source.options.mostDeleted
        guard gone * 100 <= all * most else {
            throw Self.refusal(
                of: source, "it lacks \(gone) of \(all) stored objects, more than \(most) per cent",
                .mostDeleted)
        }
        for (table, numbers) in zip(tables, missing) { try writer.delete(numbers, of: table) }
    }

    private func readRows(of table: GraphTable, _ deliver: (consuming GraphBatch) throws -> Void) throws {
        let areOrdered = table.references.map { reference in
            isInverseOrdered(table.entity.relationship(named: reference.relationship)?.description)
        }
        var batch = GraphBatch(table)
        try reader.forEachObject(
            at: place(of: table), table.entity.attributes, table.references.map(\.relationship)
        ) { number, values, links in
            let links = zip(links, areOrdered).map { link, isOrdered in
                link.map { RowLink(key(of: $0.object), order: $0.order, isOrdered: isOrdered, isOtherOrdered: false) }
            }
            try batch.append(number, values, links)
            guard batch.isFull else { return }
            try deliver(batch)
            batch = GraphBatch(table)
        }
        try deliver(batch)
    }

    private func writeLinks(of join: StoreSchema.Join) throws {
        guard let stored = try writer.join(of: join.relationship, in: join.entity) else { return }
        let relationship = writer.model.entity(named: join.entity)?.relationship(named: join.relationship)?.description
        let isOrdered = relationship?.isOrdered ?? false
        let isOtherOrdered = isInverseOrdered(relationship)
        try reader.forEachLinks(of: join) { object, links in
            let links = links.map { link in
                RowLink(
                    key(of: link.object), order: link.order, otherOrder: link.otherOrder, isOrdered: isOrdered,
                    isOtherOrdered: isOtherOrdered)
            }
            try writer.write(links, of: key(of: object), stored)
        }
        try writer.endLinks(stored)
    }
}
