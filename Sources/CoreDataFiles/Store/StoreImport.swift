internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexPlatform

/// Writes the objects of a store of Core Data into a container.
struct StoreImport {
    private let source: CoreDataStore
    private let reader: ObjectReader
    private let writer: ObjectGraphWriter
    private let tables: [GraphTable]
    /// Entities that an earlier copy had objects of, and that the app's model has no more, or only as abstract ones.
    private let goneTables: [GraphTable]
    private let imported: ImportedStore
    /// The container's newest commit when the transaction began.
    let firstCommit: UInt64
    /// The places of the entities in the reader's schema, by name.
    private let places: [String: Int]
    /// The numbers of the entities in the container, by place.
    private let entityNumbers: [Int: Int]

    /// Begins the transaction. Throws `CoreDataFileError` if the store may not be imported.
    init(_ source: CoreDataStore, into container: PersistentContainer) throws {
        (self.source, reader) = (source, source.reader)
        try source.requireWhole()
        let writer = try ObjectGraphWriter(in: container, author: source.url.lastPathComponent)
        self.writer = writer
        firstCommit = writer.newestCommit
        let places = Dictionary(reader.schema.places.enumerated().map { ($1.entity, $0) }) { first, _ in first }
        let names = source.model.entities.filter { !$0.isAbstract && places[$0.name] != nil }.map(\.name)
        let known = try writer.source(as: ImportedStore.self)
        try Self.requireSameStore(source, known, names, writer)
        writer.savesInParts = known?.isWhole != true
        imported = ImportedStore(
            identifier: source.identifier, isWhole: false,
            entities: Set(names + (known?.entities ?? [])).intersection(source.entityNames).sorted())
        try writer.migrate(to: source.model)
        tables = try writer.tables(of: names)
        // An entity that the migration renamed isn't gone. One that became abstract has no objects any more.
        let gone = Set(known?.entities ?? []).filter { name in
            let isAbstract = source.model.entity(named: name)?.isAbstract ?? false
            return (isAbstract || !source.entityNames.contains(name)) && writer.model.entity(named: name) != nil
        }
        goneTables = try writer.tables(of: gone.sorted())
        entityNumbers = Dictionary(tables.map { (places[$0.entity.name] ?? 0, $0.entityNumber) }) { first, _ in first }
        self.places = places
    }

    private static func refusal(
        of source: CoreDataStore, _ reason: String, _ remedy: CoreDataFileError.Remedy? = nil
    ) -> CoreDataFileError {
        CoreDataFileError(path: source.url.path, reason: reason, remedy: remedy)
    }

    /// Throws if the stored objects didn't come with an earlier copy.
    private static func requireSameStore(
        _ source: CoreDataStore, _ known: ImportedStore?, _ entities: [String], _ writer: ObjectGraphWriter
    ) throws {
        if source.options.hasSameIdentity { return }
        guard let known else {
            for entity in entities {
                let count = try writer.count(ofEntity: entity)
                if count == 0 { continue }
                throw refusal(
                    of: source,
                    "\(entity) has \(count) objects that were not imported from it, and would be replaced",
                    .hasSameIdentity)
            }
            return
        }
        if known.identifier == source.identifier { return }
        func name(_ identifier: UUID?) -> String { identifier?.uuidString ?? "without an identifier" }
        throw refusal(
            of: source, "it is the store \(name(source.identifier)), but the imported one is \(name(known.identifier))",
            .hasSameIdentity)
    }

    /// Writes all objects and links, and commits.
    func run() throws -> CoreDataImport {
        if writer.savesInParts { try writer.setSource(imported) }
        for (table, numbers) in try missing() { try writer.delete(numbers, of: table) }
        // The writer's model is read here, because it's replaced while another thread reads rows.
        let areOrdered = tables.map { table in
            table.references.map { isInverseOrdered(table.entity.relationship(named: $0.relationship)?.description) }
        }
        // Otherwise, several large values would be in memory at a time.
        let threads = reader.hasLargeFiles ? 1 : Threads.available
        try Threads.pipe(threads, capacity: 2) { deliver in
            for (table, areOrdered) in zip(tables, areOrdered) { try readRows(of: table, areOrdered, deliver) }
        } consume: { batch in
            try writer.write(batch)
        }
        for join in reader.schema.joins { try writeLinks(of: join) }
        if let identifier = source.identifier { try writer.noteNumbers(of: identifier, tables) }
        var whole = imported
        whole.isWhole = true
        whole.read = source.read
        let commit = try writer.commit { commit, modelVersion in
            whole.read?.commit = commit
            whole.read?.modelVersion = modelVersion
            return whole
        }
        writer.noteUnchanged(reader.counts.reduce(0, +) - reader.readCount)
        return CoreDataImport(
            counts: writer.counts, links: writer.joinCounts, readCount: reader.readCount,
            differences: source.differences,
            commit: commit)
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

    /// The objects that the store lacks, by their tables. Throws `CoreDataFileError` if they are more than may be deleted.
    @discardableResult
    func missing() throws -> [(table: GraphTable, numbers: [UInt64])] {
        var (gone, all) = (0, 0)
        let seen = tables.map { ($0, reader.numbers[place(of: $0)]) } + goneTables.map { ($0, SeenObjects()) }
        let missing = try seen.map { table, numbers in
            let found = try writer.missing(from: numbers, table)
            (gone, all) = (gone + found.missing.count, all + found.all)
            return (table, found.missing)
        }
        let most = source.options.mostDeleted
        guard Double(gone) * 100 <= Double(all) * Double(most) else {
            throw Self.refusal(
                of: source, "it lacks \(gone) of \(all) stored objects, more than \(most) per cent",
                .mostDeleted)
        }
        return missing
    }

    private func readRows(
        of table: GraphTable, _ areOrdered: [Bool], _ deliver: (consuming GraphBatch) throws -> Void
    ) throws {
        var batch = GraphBatch(table)
        try reader.forEachObject(
            at: place(of: table), table.entity.attributes, table.references.map(\.relationship)
        ) { number, values, links in
            let links = zip(links, areOrdered).map { link, isOrdered in
                link.map { RowLink(key(of: $0.object), order: $0.order, isOrdered: isOrdered, isOtherOrdered: false) }
            }
            try batch.append(number, values, links)
            // The batch has a copy of a large value.
            values.removeAll(keepingCapacity: true)
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
