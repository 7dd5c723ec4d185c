import FetchIndexRecords
package import FetchIndex

/// The content that a store must have: the rows by key, the number of its newest commit, and the factor by which its
/// model derives `weight`.
package struct ScriptState: Equatable, Sendable {
    package var rows: [String: ItemRow] = [:]
    package var commit: UInt64 = 0
    /// The factor by which the store's model derives `weight` from `size`.
    package var factor: Int64 = 2

    package init() {}

    /// Reads the content of a store. O(n). Throws if it can't be read; leaves out objects that aren't rows of the
    /// script.
    package init(of container: PersistentContainer) throws {
        let snapshot = try container.store.snapshot()
        commit = snapshot.commit
        factor = ItemRow.factor(of: snapshot.model) ?? 0
        var keys: [RecordKey: String] = [:]
        for name in [ItemRow.entity, ItemRow.subentity] {
            let number = try snapshot.model.number(of: name)
            let entity = snapshot.model.entities[number]
            try snapshot.scan(number) { object, record in
                if let (key, row) = ItemRow.decoded(try entity.values(of: record), of: entity, factor: factor) {
                    rows[key] = row
                    keys[object] = key
                }
                return true
            }
        }
        for (object, key) in keys {
            for reference in snapshot.model.entities[object.entity].links?.references ?? [] {
                _ = try snapshot.record(object) { record in
                    guard let number = try RecordView(record).integer(at: reference.slot) else { return }
                    rows[key]?.leader = keys[RecordKey(rawValue: UInt64(number))] ?? "none"
                }
            }
        }
        for number in snapshot.model.entities.indices where snapshot.model.entities[number].isJoin {
            try snapshot.scan(number) { _, record in
                let view = try RecordView(record)
                let sides = try [0, 1].map {
                    keys[RecordKey(rawValue: UInt64(try view.integer(at: $0) ?? 0))] ?? "none"
                }
                // The object in slot 1 likes the object in slot 0.
                rows[sides[1]]?.likes.insert(sides[0])
                return true
            }
        }
    }

    /// The state after a step. A transaction that changes no record doesn't count as a commit.
    package func after(_ step: ScriptStep) -> ScriptState {
        var new = self
        switch step {
        case .save(let changes, _), .transaction(let changes): for change in changes { new.apply(change) }
        case .batchInsert(let rows): for (key, row) in rows { new.rows[key] = row }
        case .batchUpdate(let group, let size):
            for key in rows.keys where rows[key]?.group == group { new.rows[key]?.size = size }
        case .batchDelete(let sizes): new.delete(Set(rows.filter { sizes.contains($0.value.size) }.keys))
        case .migrate(let factor): new.factor = factor
        case .open, .rebuild, .deleteCaches, .trim: break
        }
        // A migration that rewrites records is a commit.
        if new.rows != rows || new.factor != factor && !rows.isEmpty { new.commit += 1 }
        return new
    }

    private mutating func apply(_ change: ScriptChange) {
        switch change {
        case .put(let key, let row):
            var row = row
            (row.leader, row.likes) = (rows[key]?.leader, rows[key]?.likes ?? [])
            rows[key] = row
        case .delete(let key): delete([key])
        case .follow(let key, let leader): if leader.map({ rows[$0] != nil }) ?? true { rows[key]?.leader = leader }
        case .like(let key, let other):
            guard rows[other] != nil, rows[key]?.likes.remove(other) == nil else { return }
            rows[key]?.likes.insert(other)
        }
    }

    /// Deletes rows, and the references to them.
    private mutating func delete(_ keys: Set<String>) {
        rows = rows.filter { !keys.contains($0.key) }
        for (key, row) in rows {
            if row.leader.map(keys.contains) ?? false { rows[key]?.leader = nil }
            if !row.likes.isDisjoint(with: keys) { rows[key]?.likes.subtract(keys) }
        }
    }
}

/// A change of one row.
package enum ScriptChange: Sendable {
    case put(String, ItemRow)
    case delete(String)
    case follow(String, leader: String?)
    /// A row begins to like another row, or stops liking it.
    case like(String, String)
}

/// A step of a script.
package enum ScriptStep: Sendable {
    /// A save of a context; if `isLive`, with a controller on a named cache, which the save updates.
    case save([ScriptChange], isLive: Bool)
    case transaction([ScriptChange])
    case batchInsert([(key: String, row: ItemRow)])
    case batchUpdate(group: String, size: Int64)
    case batchDelete(sizes: ClosedRange<Int64>)
    /// Opens a cache, which builds it or catches it up if needed.
    case open(ScriptCache)
    case rebuild(ScriptCache)
    case deleteCaches(ScriptCache?)
    /// Changes the model's factor. If the factor is another one, the migration computes all derived values again.
    case migrate(factor: Int64)
    /// Trims the log, but keeps this many commits before the newest one.
    case trim(keeping: UInt64)
}

/// A cache of the script.
package enum ScriptCache: String, CaseIterable, Sendable {
    case byGroup = "by group"
    case large
    case byNote = "by note"
    case byLeader = "by leader"
    case liked

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
        // If the notes are long, this order's keys don't fit into the least memory budget, and are sorted on disk.
        case .byNote:
            OrderDefinition(
                entity: ItemRow.entity, sortKeys: [SortKey("note"), SortKey("size")], aggregates: [.max("size")])
        // Rows depend on other rows: on their leaders, and on their leaders' leaders.
        case .byLeader:
            OrderDefinition(
                entity: ItemRow.entity,
                sortKeys: [SortKey("leader.size"), SortKey("leader.leader.group"), SortKey("key")],
                sectionKey: .relationship("leader", name: "key"))
        case .liked:
            OrderDefinition(
                entity: ItemRow.entity, predicate: try FetchPredicate("likedBy.@count > 0 OR ANY likes.size > 500"),
                sortKeys: [SortKey("followers.@max.size", .descending)], sectionKey: .attribute("leader.group"))
        }
    }
}
