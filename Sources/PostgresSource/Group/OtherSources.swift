internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

/// The other sources that a store follows, besides a follower's own.
package struct OtherSources {
    private let sources: [FollowedSource]
    /// The group's number of stored descriptions when the sources were read; nil if they must be read again.
    let generation: Int?

    /// No other sources.
    package init() { (sources, generation) = ([], nil) }

    /// Reads the sources that have other names.
    init(than name: String, in container: PersistentContainer, generation: Int? = nil) throws {
        sources = try container.followedSources(as: FollowedSource.self).filter { $0.name != name }
        self.generation = generation
    }

    private init(_ sources: [FollowedSource]) { (self.sources, generation) = (sources, nil) }

    /// The sources with another one instead of one of them.
    func replacing(_ source: FollowedSource, by other: FollowedSource) -> OtherSources {
        OtherSources(sources.filter { $0.name != source.name } + [other])
    }

    var isEmpty: Bool { sources.isEmpty }

    /// All tables, with their sources.
    var tables: [(source: FollowedSource, table: FollowedSource.Table)] {
        sources.flatMap { source in source.tables.map { (source, $0) } }
    }

    /// The tables by which these sources fill an entity.
    func tables(of entity: String) -> [(source: FollowedSource, table: FollowedSource.Table)] {
        tables.filter { $0.table.entity == entity }
    }

    /// The names of the columns that these sources have for an entity.
    func columns(of entity: String) -> Set<String> {
        Set(tables(of: entity).flatMap { $0.table.columns.map(\.name) })
    }

    /// The foreign keys of a table, and those that other sources have for its entity. So an object is related in the same
    /// way, whichever source has its row.
    func references(of table: FollowedSource.Table) -> [(FollowedSource?, FollowedSource.Reference)] {
        var known = Set(table.references.map(\.relationship))
        let names = Set(table.columns.map(\.name))
        let foreign = tables(of: table.entity).flatMap { other in
            other.table.references.compactMap { reference -> (FollowedSource?, FollowedSource.Reference)? in
                guard names.isSuperset(of: reference.columns), known.insert(reference.relationship).inserted else {
                    return nil
                }
                return (other.source, reference)
            }
        }
        return table.references.map { (nil, $0) } + foreign
    }
}

extension RowTable {
    /// The entity of a followed table, with the foreign keys that are followed. Returns nil if the key isn't unique.
    /// Throws like the other initializer.
    convenience init?(
        _ followed: FollowedSource.Table, of source: FollowedSource?, besides others: OtherSources, in model: Model
    ) throws {
        let references = others.references(of: followed).compactMap { owner, reference -> Reference? in
            let tables = (owner ?? source)?.tables ?? []
            let table = tables.first { $0.entity == reference.entity }
            guard let key = reference.key ?? table?.key else { return nil }
            // Rows of one source refer to each other, unless the key alone identifies the other row.
            let isNamed = table?.shard?.isInKey ?? false
            if isNamed && followed.shard == nil { return nil }
            let attributes = (isNamed ? [followed.shard?.attribute ?? ""] : []) + reference.columns
            return (
                attributes, reference.relationship, reference.entity, table?.attributes(ofKey: key) ?? key
            )
        }
        let part = followed.shard.map { shard in
            (
                attribute: shard.attribute, value: Value.string(source?.name ?? SourceName.main),
                others: others.tables(of: followed.entity).map { Value.string($0.source.name) }
            )
        }
        try self.init(
            followed.entity, key: followed.keyAttributes, references: references, part: part,
            otherKeys: followed.otherKeys.map(followed.attributes(ofKey:)), in: model)
    }
}
