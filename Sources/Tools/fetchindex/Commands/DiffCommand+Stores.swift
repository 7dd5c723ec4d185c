internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexCatalogues
internal import FetchIndexInspection
internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexTerminal

// Stores as catalogues: their rows are written to files.
extension DiffCommand {
    /// Returns a file as it is, and the entity of a store as a file with its records.
    func source(_ path: String, in folder: TemporaryFolder) throws -> Source {
        guard Self.isStore(path) else { return Source(path: path, format: format) }
        let container = try open(path)
        let stored = try container.model().entity(orOnly: entity)
        warnOfRelationships(of: stored)
        let rows = try RowsFile(of: stored, in: folder)
        var definition = OrderDefinition(entity: stored.name)
        definition.includesSubentities = false
        try container.withOrder(definition, .init()) { (order: FetchedOrder) in try order.forEachRow(rows.append) }
        return try source(rows, of: stored)
    }

    private static func isStore(_ path: String) -> Bool { (try? Folder.kind(at: path)) == .folder }

    private func open(_ path: String) throws -> PersistentContainer {
        try PersistentContainer(storeAt: path, isReadOnly: true, threads: threads.count)
    }

    private func source(_ rows: RowsFile, of entity: Entity) throws -> Source {
        let types = entity.attributes.map { "\(RequestText.quoted($0.name)):\($0.type.name)" }
        return Source(
            path: try rows.finish(), format: .jsonl, key: entity.attributes.first(where: \.isUnique)?.name,
            types: types.joined(separator: ","), entity: entity.name)
    }

    /// Returns the entity of a cache of both stores, and two files with the rows in which the cache differs; nil if it's
    /// equal.
    func differingRows(
        ofCache name: String, in folder: TemporaryFolder
    ) throws -> (entity: String, rows: [Source]?) {
        for path in [first, second] where !Self.isStore(path) {
            throw ValidationError("--cache compares two stores, but \(path.visible) is not a store's folder.")
        }
        let bar = ProgressBar("reading \(name)")
        let containers = try [first, second].map(open)
        let caches = try containers.map { try RequestOptions.existing(name, in: $0, bar, author: "diff") }
        try requireComparable(caches.map(\.definition), name, containers)
        func withOrder<Result>(_ index: Int, _ body: (FetchedOrder) throws -> Result) throws -> Result {
            try containers[index].withUnchangedOrder(caches[index].definition, caches[index].options, body)
        }
        return try withOrder(0) { first in
            try withOrder(1) { second in
                bar.finish()
                let entities = [first.entity, second.entity]
                let rows = try entities.map { try RowsFile(of: $0, in: folder) }
                var count = 0
                try first.forEachDifference(from: second) { row, isInSecond in
                    count += 1
                    try rows[isInSecond ? 1 : 0].append(row)
                }
                return (first.entity.name, count == 0 ? nil : try zip(rows, entities).map { try source($0, of: $1) })
            }
        }
    }

    /// Throws if two caches can't be compared, or if their rows don't say what differs.
    private func requireComparable(
        _ definitions: [OrderDefinition], _ name: String, _ containers: [PersistentContainer]
    ) throws {
        guard definitions[0].entity == definitions[1].entity else {
            throw Failure("the caches \(name.visible) of the two stores are of different entities")
        }
        if output == .jsonl, definitions.contains(where: { $0.predicate != nil }) {
            throw Failure(
                "the cache \(name.visible) has a condition, and a row that no longer meets it would be deleted by a delta; "
                    + "leave out --output \(output.rawValue), or compare a cache without a condition")
        }
        for (container, definition) in zip(containers, definitions) {
            let model = try container.model()
            guard let entity = model.entity(named: definition.entity) else { continue }
            if definition.includesSubentities, model.entities.contains(where: { $0.superentity == entity.name }) {
                throw Failure(
                    "the cache \(name.visible) includes objects of subentities, which have attributes of their own; "
                        + "compare caches that were fetched with --no-include-subentities")
            }
            if let key, entity.attributes.contains(where: { $0.name == key && !$0.isUnique }) {
                throw Failure("\(entity.name.visible).\(key.visible) is not unique, so it does not identify rows")
            }
            warnOfRelationships(of: entity)
        }
    }

    private func warnOfRelationships(of entity: Entity) {
        if entity.relationships.isEmpty { return }
        Output.error("the relationships of \(entity.name.visible) are not compared")
    }
}
