internal import FetchIndex
internal import FetchIndexModels

// The store's writer, and what a follower knows of the store's other sources.
extension Follower {
    /// The author of a commit, with what it has of the source.
    func author(_ content: String? = nil) -> String {
        (["postgres"] + (name == SourceName.main ? [] : [name]) + [content].compactMap { $0 }).joined(separator: " ")
    }

    /// Begins a transaction of the store.
    func beginWriting(author: String? = nil, changesRecords: Bool = true) throws -> KeyedRowWriter {
        let writer = try group.writer(
            in: container, author: author ?? self.author(), changesRecords: changesRecords)
        // No other follower stores a description now.
        let generation = group.generation
        if generation != others.generation {
            others = try OtherSources(than: name, in: container, generation: generation)
        }
        return writer
    }

    func readOthers() throws { others = try OtherSources(than: name, in: container) }

    /// Notes that a transaction may have failed after it took rows out of the waiting ones, which other followers share.
    func noteFailedTransaction() { if !others.isEmpty { group.noteLostWaitingRows() } }

    // MARK: Links

    /// Returns the tables that fill an entity, this source's one first.
    func rowTables(of entity: String, in model: Model, ofAllSources: Bool = true) throws -> [RowTable] {
        // Another process may have dropped the entity of another source's table.
        guard model.entity(named: entity) != nil else { return [] }
        let own = source.tables.filter { $0.entity == entity }
        let foreign = ofAllSources ? others.tables(of: entity) : []
        return try own.compactMap { try RowTable($0, of: source, besides: others, in: model) }
            + foreign.compactMap { owner, table in
                try RowTable(table, of: owner, besides: others.replacing(owner, by: source), in: model)
            }
    }

    /// Links the objects whose foreign keys name objects that exist now, in this source's tables or, if `ofAllSources`, in
    /// all tables.
    func linkAll(_ writer: KeyedRowWriter, ofAllSources: Bool) throws {
        let tables = source.tables + (ofAllSources ? others.tables.map(\.table) : [])
        for entity in Set(tables.map(\.entity)).sorted() {
            try writer.linkAll(rowTables(of: entity, in: writer.model, ofAllSources: ofAllSources))
        }
    }

    func findWaitingRows() throws {
        let writer = try beginWriting()
        try linkAll(writer, ofAllSources: true)
        try commit(writer)
    }
}
