internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexCatalogues
internal import FetchIndexInspection
internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexTerminal

// Stores as catalogues: their rows are written to files. If both stores have a cache with a fingerprint, only the rows in
// which the caches differ are.
extension DiffCommand {
    /// Returns a file as it is, and the entity of a store as a file with its records.
    func source(_ path: String, in folder: TemporaryFolder) throws -> Source {
        guard Self.isStore(path) else { return Source(path: path, format: format) }
        let container = try open(path)
        let stored = try storedEntity(of: container, path)
        warnOfRelationships(of: stored)
        let rows = try RowsFile(of: stored, in: folder)
        var definition = OrderDefinition(entity: stored.name)
        definition.includesSubentities = false
        try container.withOrder(definition, .init()) { (order: FetchedOrder) in try order.forEachRow(rows.append) }
        return try source(rows, of: stored, in: container)
    }

    private static func isStore(_ path: String) -> Bool { (try? Folder.kind(at: path)) == .folder }

    private func open(_ path: String) throws -> PersistentContainer {
        try PersistentContainer(storeAt: path, isReadOnly: true, threads: threads.count)
    }

    /// The entity of a store that is compared. The error for another name says which store lacks it.
    private func storedEntity(of container: PersistentContainer, _ path: String) throws -> Entity {
        let model = try container.model()
        do { return try model.entity(orOnly: entity) } catch let error as ModelError {
            throw Failure("\(path.visible): \(error)")
        }
    }

    private func source(_ rows: RowsFile, of entity: Entity, in container: PersistentContainer) throws -> Source {
        let types = entity.attributes.map { "\(RequestText.quoted($0.name)):\($0.type.name)" }
        return Source(
            path: try rows.finish(), format: .jsonl, key: entity.attributes.first(where: \.isUnique)?.name,
            types: types.joined(separator: ","), entity: entity.name, numbers: rows.numbers,
            nextNumber: try container.nextNumber(ofEntity: entity.name))
    }

    private func warnOfRelationships(of entity: Entity) {
        if entity.relationships.isEmpty { return }
        Output.error("the relationships of \(entity.name.visible) are not compared")
    }
}

// Comparison by caches.
extension DiffCommand {
    /// The rows in which two caches differ.
    struct DifferingRows {
        let entity: String
        /// A file with the rows of each store; empty if the caches are equal.
        let rows: [Source]
        let isFirstEmpty: Bool
    }

    /// Returns the rows in which the given cache of two stores differs, or a cache that is as good as all rows; nil if no
    /// cache is given and none is found.
    func differingRows(in folder: TemporaryFolder) throws -> DifferingRows? {
        let isGiven = cache != nil
        for path in [first, second] where !Self.isStore(path) {
            guard isGiven else { return nil }
            throw ValidationError("--cache compares two stores, but \(path.visible) is not a store's folder.")
        }
        if !isGiven && (hasPlaces || hasFileOptions) { return nil }
        let containers = try [first, second].map(open)
        for names in try cache.map({ [[$0, $0]] }) ?? wholeCaches(of: containers) {
            if let found = try differingRows(ofCaches: names, containers, in: folder) { return found }
        }
        return nil
    }

    /// Returns the differing rows of two caches. If they can't be compared, returns nil, or throws if they were given.
    private func differingRows(
        ofCaches names: [String], _ containers: [PersistentContainer], in folder: TemporaryFolder
    ) throws -> DifferingRows? {
        let bar = ProgressBar("reading \(names[0])")
        defer { bar.finish() }
        let caches = try zip(names, containers).map {
            try RequestOptions.existing($0, in: $1, bar, author: "diff")
        }
        if let cache { try requireComparable(caches.map(\.definition), cache, containers) }
        func withOrder<Result>(_ index: Int, _ body: (FetchedOrder) throws -> Result) throws -> Result {
            try containers[index].withUnchangedOrder(caches[index].definition, caches[index].options, body)
        }
        return try withOrder(0) { first in
            try withOrder(1) { second in
                bar.finish()
                if cache == nil && !first.isComparable(to: second) { return nil }
                let entities = [first.entity, second.entity]
                entities.forEach(warnOfRelationships)
                let rows = try entities.map { try RowsFile(of: $0, in: folder) }
                try first.forEachDifference(from: second) { row, isInSecond in
                    try rows[isInSecond ? 1 : 0].append(row)
                }
                let isEqual = rows.allSatisfy(\.numbers.isEmpty)
                return DifferingRows(
                    entity: first.entity.name,
                    rows: isEqual
                        ? [] : try rows.indices.map { try source(rows[$0], of: entities[$0], in: containers[$0]) },
                    isFirstEmpty: first.rowCount == 0)
            }
        }
    }

    /// Throws if two given caches can't be compared, or if their rows don't say what differs.
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
            if definition.includesSubentities, model.hasSubentities(of: entity) {
                throw Failure(
                    "the cache \(name.visible) includes objects of subentities, which have attributes of their own; "
                        + "compare caches that were fetched with --no-include-subentities")
            }
            if let key, entity.attributes.contains(where: { $0.name == key && !$0.isUnique }) {
                throw Failure("\(entity.name.visible).\(key.visible) is not unique, so it does not identify rows")
            }
        }
    }

    // MARK: Choice

    /// Pairs of caches of the two stores that have all rows and their fingerprints, and of which some may be comparable,
    /// in the order of names. Pairs with the same name come first. Empty if the rows of one store may lack keys, or if
    /// the stores have different entities.
    private func wholeCaches(of containers: [PersistentContainer]) throws -> [[String]] {
        let entities = try zip(containers, [first, second]).map { try storedEntity(of: $0, $1) }
        let key = key ?? entities.lazy.compactMap { $0.attributes.first(where: \.isUnique)?.name }.first
        func isKeyed(_ entity: Entity) -> Bool {
            entity.attributes.contains { $0.name == key && $0.isUnique && !$0.isOptional }
        }
        guard entities[0].name == entities[1].name, entities.allSatisfy(isKeyed) else { return [] }
        let caches = try zip(containers, entities).map { try wholeCaches(of: $1, in: $0) }
        let pairs = caches[0].flatMap { first in
            caches[1].filter { second in
                first.definition.sortKeys == second.definition.sortKeys
                    && first.definition.sectionKey == second.definition.sectionKey
            }.map { [first.name, $0.name] }
        }
        return pairs.filter { $0[0] == $0[1] } + pairs.filter { $0[0] != $0[1] }
    }

    /// The caches of a store with all rows of an entity and their fingerprint, which needn't be rebuilt; sorted by name.
    private func wholeCaches(
        of entity: Entity, in container: PersistentContainer
    ) throws -> [(name: String, definition: OrderDefinition)] {
        let state = try container.pinnedState()
        return try state.cacheNames().compactMap { name in
            guard !PersistentContainer.isIndex(name), case .readable(let request)? = try state.request(ofCache: name),
                request.entity == entity.name, (try? request.isComparable()) == true,
                let definition = try? request.definition(), definition.predicate == nil,
                definition.aggregates.contains(.fingerprint),
                !definition.includesSubentities || !state.model.hasSubentities(of: entity)
            else { return nil }
            if case .unusable = try state.facts(ofCache: name).state { return nil }
            return (name, definition)
        }
    }

    var hasFileOptions: Bool {
        types != nil || format != nil || delimiter != nil || table != nil || lists.listsAsText
    }
}

extension Model {
    fileprivate func hasSubentities(of entity: Entity) -> Bool {
        entities.contains { $0.superentity == entity.name }
    }
}
