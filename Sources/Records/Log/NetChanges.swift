internal import FetchIndexPlatform
internal import FetchIndexModels
extension StoreReader {
    /// Calls the body with the net logged changes of an entity from one commit to another: one old and one new record
    /// per changed object, by ascending object number. O(k log n + inserted objects) for k log entries from the first
    /// commit to this reader's. Throws `logTooShort` if the log doesn't reach back to the first commit.
    package func netChanges(
        of entity: Int, from first: UInt64, to last: UInt64? = nil, _ body: (RecordChange) throws -> Void
    ) throws {
        let last = last ?? commit
        guard logReaches(back: first), first <= last, last <= commit else {
            throw StoreError.logTooShort(commit: first)
        }
        // If an object existed at a commit and changed later, its oldest record in the log after the commit is its
        // record at the commit.
        let before = try firstOldRecords(of: entity, after: first, through: last)
        let after = try firstOldRecords(of: entity, after: last, through: commit)
        func state(at object: RecordKey) throws -> [UInt8]? {
            if object.number >= after.firstInserted { return nil }
            if let old = after.records[object.number] { return old }
            return try copy(of: object)
        }
        for number in before.records.keys.sorted() {
            let object = RecordKey(entity: entity, number: number)
            let old = before.records[number]
            let new = try state(at: object)
            if old != new { try body(RecordChange(object: object, old: old, new: new)) }
        }
        try forEachInserted(
            entity, from: before.firstInserted, until: after.firstInserted, deleted: after.records, body)
    }

    /// Calls the body with the net changes of an entity from an older reader's state to this one's. Reads the changes
    /// from the log, which lacks what migrations rewrote, if it reaches back far enough and is intact; otherwise
    /// compares all records.
    package func netChanges(of entity: Int, since old: StoreReader, _ body: (RecordChange) throws -> Void) throws {
        guard old.commit != commit else { return }
        if logReaches(back: old.commit) {
            var changes: [RecordChange] = []
            do {
                try netChanges(of: entity, from: old.commit) { changes.append($0) }
                for change in changes { try body(change) }
                return
            } catch StoreError.corrupted {}  // both states are compared instead
        }
        try scan(entity) { object, record in
            let before = try old.copy(of: object)
            if let before, before.span.bytes.isEqual(to: record) { return true }
            try body(RecordChange(object: object, old: before, new: [UInt8](copying: record)))
            return true
        }
        try old.scan(entity) { object, record in
            if try !self.record(object, { _ in }) {
                try body(RecordChange(object: object, old: [UInt8](copying: record), new: nil))
            }
            return true
        }
    }

    private struct OldRecords {
        /// By object number, the oldest logged record of each changed object that existed at the first commit.
        var records: [UInt64: [UInt8]] = [:]
        /// The least number of an object that was inserted after the first commit. Objects with greater numbers were
        /// inserted after it, too.
        var firstInserted = UInt64.max
    }

    private func firstOldRecords(of entity: Int, after first: UInt64, through last: UInt64) throws -> OldRecords {
        var old = OldRecords()
        try forEachLogEntry(of: entity, after: first, through: last) { kind, object, _, record in
            switch kind {
            case .inserted: old.firstInserted = min(old.firstInserted, object.number)
            case .updated, .deleted:
                // A commit's inserted ranges are its last entries, so `firstInserted` comes from earlier commits here.
                if object.number < old.firstInserted && old.records[object.number] == nil {
                    old.records[object.number] = [UInt8](copying: record)
                }
            }
        }
        return old
    }

    /// Calls the body with the objects with numbers in `first..<end`, which were inserted between two commits, if they
    /// exist at the second commit. Passes their current records, or if later commits changed or deleted an object, its
    /// record in `deleted`, which is from the log.
    private func forEachInserted(
        _ entity: Int, from first: UInt64, until end: UInt64, deleted: [UInt64: [UInt8]],
        _ body: (RecordChange) throws -> Void
    ) throws {
        guard first < end else { return }
        var inserted = deleted.filter { $0.key >= first && $0.key < end }
        if inserted.isEmpty {
            try scan(entity, from: first) { object, record in
                guard object.number < end else { return false }
                try body(RecordChange(object: object, old: nil, new: [UInt8](copying: record)))
                return true
            }
            return
        }
        try scan(entity, from: first) { object, record in
            guard object.number < end else { return false }
            if inserted[object.number] == nil { inserted[object.number] = [UInt8](copying: record) }
            return true
        }
        for number in inserted.keys.sorted() {
            try body(RecordChange(object: RecordKey(entity: entity, number: number), old: nil, new: inserted[number]))
        }
    }
}
