internal import FetchIndexPlatform
package import FetchIndexModels
internal import FetchIndexLMDB

/// Reads the change log of a store.
extension StoreReader {
    /// Whether the log has all commits after a commit. False if this reader doesn't see that commit.
    package func logReaches(back commit: UInt64) -> Bool { commit >= state.logStart && commit <= state.commit }

    /// The headers of the commits after a commit, oldest first, as far back as the log reaches. O(k log n) for k
    /// commits.
    package func commits(after commit: UInt64) throws -> [CommitHeader] {
        var headers: [CommitHeader] = []
        var next = max(commit, state.logStart) + 1
        while next <= state.commit {
            headers.append(try commitHeader(next))
            next += 1
        }
        return headers
    }

    /// The header of a commit. Throws `corrupted` if the log doesn't have the commit. O(log n).
    func commitHeader(_ commit: UInt64) throws -> CommitHeader {
        var header: CommitHeader?
        let key = StoreLayout.logKey(commit: commit, part: 0)
        _ = try view.get(key, in: tables.log) { header = try CommitHeader(commit: commit, decoding: $0) }
        guard let header else { throw StoreError.corrupted("the log has no commit \(commit)") }
        return header
    }

    /// The number of objects of these entities that were changed after a commit, as far back as the log reaches. An
    /// object is counted once per commit. O(k log n) for k commits.
    package func changeCount(of entities: [Int], after commit: UInt64) throws -> Int {
        try commits(after: commit).reduce(0) { sum, commit in
            entities.reduce(sum) { $0 + (commit.changes[$1]?.total ?? 0) }
        }
    }

    /// Calls the body with the log entries of an entity, or of all entities if nil, in the commits after `commit`
    /// through `last`. The log must reach back to `commit`. For an inserted range, the object is the first of the
    /// range, the count is the length of the range, and the old record is empty. Throws `corrupted` for missing or
    /// damaged parts, and at the end of a commit whose entries don't match the counts in its header.
    func forEachLogEntry(
        of entity: Int?, after commit: UInt64, through last: UInt64,
        _ body: (LogEntryKind, RecordKey, _ count: UInt64, _ old: RawSpan) throws -> Void
    ) throws {
        guard commit < last else { return }
        var proof = LogProof(after: commit)
        let first = StoreLayout.logKey(commit: commit + 1, part: 0)
        try view.walk(tables.log, from: first.span.bytes) { cursor in
            guard let key = LogKey(cursor.key) else {
                throw StoreError.corrupted("the log has a malformed key")
            }
            if key.commit > last { return false }
            try proof.begin(key, cursor.value)
            if key.part == 0 { return true }
            try Self.forEachEntry(in: cursor.value, of: key) { kind, object, count, old in
                proof.note(kind, object.entity, count)
                if entity.map({ $0 == object.entity }) ?? true { try body(kind, object, count, old) }
            }
            return true
        }
        try proof.end(through: last)
    }

    /// Calls the body with the entries of a part of the log. Throws `corrupted` if the part doesn't match its checksum,
    /// which also covers its key.
    package static func forEachEntry(
        in part: RawSpan, of key: LogKey, _ body: (LogEntryKind, RecordKey, UInt64, RawSpan) throws -> Void
    ) throws {
        var reader = try ByteReader(checked: part, with: key.checksum, key.name)
        while !reader.isAtEnd {
            guard let kind = LogEntryKind(rawValue: try reader.uint8()) else {
                throw StoreError.corrupted("\(key.name) has an entry of an unknown kind")
            }
            let (entity, number) = (try reader.varint(), try reader.varint())
            guard entity <= 0xFFFF, number <= RecordKey.maximumNumber else {
                throw StoreError.corrupted("\(key.name) names no object")
            }
            let object = RecordKey(entity: Int(entity), number: number)
            let count = kind == .inserted ? try reader.varint() : 1
            let range = kind == .inserted ? 0..<0 : try reader.range(try reader.count())
            try body(kind, object, count, part.extracting(range))
        }
    }

    /// The kind of change that a commit made to each object, from the log. It's the kind of the first change: an object
    /// that was inserted and deleted in the commit is `inserted`. A changed link of a many-to-many relationship counts
    /// as an update of both objects, if the commit didn't change them in another way; inserted links that no longer
    /// exist are left out. O(k log n) for k changes. Throws `logTooShort` if the log doesn't reach back to the
    /// commit.
    package func changes(in commit: UInt64) throws -> [(object: RecordKey, kind: LogEntryKind)] {
        guard commit > 0, logReaches(back: commit - 1) else { throw StoreError.logTooShort(commit: commit) }
        var changes: [(object: RecordKey, kind: LogEntryKind)] = []
        var linked: Set<RecordKey> = []
        let joins = Set(model.entities.indices.filter { model.entities[$0].isJoin })
        try forEachLogEntry(of: nil, after: commit - 1, through: commit) { kind, object, count, old in
            if joins.contains(object.entity) {
                if kind != .inserted { return try linked.formUnion(joinedObjects(old)) }
                let end = min(object.number &+ count, try entityState(object.entity).nextObject)
                for number in object.number..<max(object.number, end) {
                    _ = try record(RecordKey(entity: object.entity, number: number)) {
                        try linked.formUnion(joinedObjects($0))
                    }
                }
                return
            }
            switch kind {
            case .updated, .deleted: changes.append((object, kind))
            case .inserted:
                guard model.entities.indices.contains(object.entity) else { return }
                let end = min(object.number &+ count, try entityState(object.entity).nextObject)
                guard object.number < end else { return }
                for number in object.number..<end {
                    changes.append((RecordKey(entity: object.entity, number: number), kind))
                }
            }
        }
        let known = Set(changes.map(\.object))
        return changes + linked.subtracting(known).sorted().map { ($0, .updated) }
    }

    /// The two objects that a many-to-many link connects, from its record.
    private func joinedObjects(_ record: RawSpan) throws -> [RecordKey] {
        let view = try RecordView(record)
        return try [0, 1].compactMap { try view.integer(at: $0).map { RecordKey(rawValue: UInt64(bitPattern: $0)) } }
    }
}
