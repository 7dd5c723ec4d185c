import Records
package import FetchIndex

/// What must be in a store: the rows by key, and the number of its newest commit.
package struct ScriptState: Equatable, Sendable {
    package var rows: [String: ItemRow] = [:]
    package var commit: UInt64 = 0
    /// Of the model.
    package var factor: Int64 = 2

    package init() {}

    /// What is in a store. O(n). Throws when it cannot be read; a row that is none of the script's counts as missing.
    package init(of container: PersistentContainer) throws {
        let snapshot = try container.store.snapshot()
        commit = snapshot.commit
        factor = ItemRow.factor(of: snapshot.model) ?? 0
        for name in [ItemRow.entity, ItemRow.subentity] {
            let number = try snapshot.model.number(of: name)
            let entity = snapshot.model.entities[number]
            try snapshot.scan(number) { _, record in
                if let (key, row) = ItemRow.decoded(try entity.values(of: record), of: entity, factor: factor) {
                    rows[key] = row
                }
                return true
            }
        }
    }

    /// The state after a step. A transaction that changes no record is no commit.
    package func after(_ step: ScriptStep) -> ScriptState {
        var new = self
        switch step {
        case .save(let changes, _), .transaction(let changes): for change in changes { new.apply(change) }
        case .batchInsert(let rows): for (key, row) in rows { new.rows[key] = row }
        case .batchUpdate(let group, let size):
            for key in rows.keys where rows[key]?.group == group { new.rows[key]?.size = size }
        case .batchDelete(let sizes): new.rows = rows.filter { !sizes.contains($0.value.size) }
        case .migrate(let factor): new.factor = factor
        case .open, .rebuild, .deleteCaches, .trim: break
        }
        // A pass over records is a commit.
        if new.rows != rows || new.factor != factor && !rows.isEmpty { new.commit += 1 }
        return new
    }

    private mutating func apply(_ change: ScriptChange) {
        switch change {
        case .put(let key, let row): rows[key] = row
        case .delete(let key): rows[key] = nil
        }
    }
}

/// A change of one row.
package enum ScriptChange: Sendable {
    case put(String, ItemRow)
    case delete(String)
}

/// A transaction of a victim.
package enum ScriptStep: Sendable {
    /// Through a context; `isLive`: with a controller on a named cache, which the save brings along.
    case save([ScriptChange], isLive: Bool)
    case transaction([ScriptChange])
    case batchInsert([(key: String, row: ItemRow)])
    case batchUpdate(group: String, size: Int64)
    case batchDelete(sizes: ClosedRange<Int64>)
    /// Builds a cache, or catches it up.
    case open(ScriptCache)
    case rebuild(ScriptCache)
    case deleteCaches(ScriptCache?)
    /// Changes the model: a pass over all records, which computes their derived values and builds indexes again.
    case migrate(factor: Int64)
    /// Cuts the log up to so many commits before the newest.
    case trim(keeping: UInt64)
}

/// A named order of the script.
package enum ScriptCache: String, CaseIterable, Sendable {
    case byGroup = "by group"
    case large
    case byNote = "by note"

    package func definition() throws -> OrderDefinition {
        switch self {
        case .byGroup:
            OrderDefinition(
                entity: ItemRow.entity, sortKeys: [SortKey("size", .descending)], sectionKey: .attribute("group"),
                aggregates: [.sum("size"), .count("note")])
        case .large:
            OrderDefinition(
                entity: ItemRow.entity, predicate: try FetchPredicate("size > 500"), sortKeys: [SortKey("key")],
                sectionKey: .prefix("key", 2), sectionOrder: .byCount())
        // Long keys: with the least memory they are sorted on disk.
        case .byNote:
            OrderDefinition(
                entity: ItemRow.entity, sortKeys: [SortKey("note"), SortKey("size")], aggregates: [.max("size")])
        }
    }
}
