internal import FetchIndexPlatform
package import FetchIndexModels
internal import FetchIndexLMDB

/// Reads the change log of a store.
extension StoreReader {
    /// Whether the log has all commits after a commit. False if this reader doesn't see that commit.
    package func logReaches(back commit: UInt64) -> Bool { commit >= state.logStart && commit <= state.commit }

    /// The maximum length of the log in bytes: 256 MiB, or a quarter more than the pages of records, see
    /// `StoreState.logLimit`. O(1).
    package func logLimit() throws -> UInt64 {
        let pages = try view.statistics(of: tables.records).pages
        let recordBytes = UInt64(pages * (try store.environment.information().pageSize))
        return StoreState.logLimit(state.logLimit, recordBytes: recordBytes)
    }

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
        _ body: (LogEntry, _ old: RawSpan) throws -> Void
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
            try Self.forEachEntry(in: cursor.value, of: key) { entry, old in
                proof.note(entry)
                if entity.map({ $0 == entry.object.entity }) ?? true { try body(entry, old) }
            }
            return true
        }
        try proof.end(through: last)
    }

    /// Calls the body with the entries of a part of the log. Throws `corrupted` if the part doesn't match its checksum,
    /// which also covers its key.
    package static func forEachEntry(
        in part: RawSpan, of key: LogKey, _ body: (LogEntry, _ old: RawSpan) throws -> Void
    ) throws {
        var reader = try ByteReader(checked: part, with: key.checksum, key.name)
        while !reader.isAtEnd {
            let (entry, old) = try LogEntry.read(from: &reader, of: key)
            try body(entry, part.extracting(old))
        }
    }

    /// Calls the body with the old record of the entry at a place, where the log was read before in this transaction.
    /// The part's checksum isn't compared again. O(log n).
    func oldRecord(at place: LogPlace, _ body: (RawSpan) throws -> Void) throws {
        let key = StoreLayout.logKey(commit: place.key.commit, part: place.key.part)
        let isFound = try view.get(key, in: tables.log) { part in
            var reader = ByteReader(part, place.key.name)
            _ = try reader.range(place.offset)
            try body(part.extracting(LogEntry.read(from: &reader, of: place.key).old))
        }
        if !isFound { throw StoreError.corrupted("the log has no \(place.key.name)") }
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
        try forEachLogEntry(of: nil, after: commit - 1, through: commit) { entry, old in
            let (kind, object, count) = (entry.kind, entry.object, entry.count)
            if joins.contains(object.entity) {
                if kind == .updated || kind == .deleted { return try linked.formUnion(joinedObjects(old)) }
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
            case .returned: changes.append((object, .inserted))
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
        return try [0, 1].compactMap { try view.integer(at: $0).map { RecordKey(reference: $0) } }
    }
}
