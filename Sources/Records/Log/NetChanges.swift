internal import FetchIndexPlatform
package import FetchIndexModels
extension StoreReader {
    /// Whether two records of an entity have the same values; see `RecordView.hasSameValues`.
    func hasSameValues(_ record: RawSpan, _ other: RawSpan, of entity: Int) throws -> Bool {
        if record.isEqual(to: other) { return true }
        let entity = model.entities[entity]
        let missing = entity.missingValues
        let view = try RecordView(other, missing: missing.span.bytes)
        return try RecordView(record, missing: missing.span.bytes).hasSameValues(as: view, of: entity)
    }

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
        let before = try PastRecords(of: entity, after: first, through: last, in: self)
        let after = try PastRecords(of: entity, after: last, through: commit, in: self)
        // Most logs have none.
        var returned = before.numbersOfReturned[...]
        func passReturned(before end: UInt64) throws {
            while let number = returned.first, number < end {
                returned.removeFirst()
                let object = RecordKey(entity: entity, number: number)
                guard let new = try after.copy(of: object) else { continue }
                try body(RecordChange(object: object, old: nil, new: new))
            }
        }
        try before.forEach { number, old in
            try passReturned(before: number)
            let object = RecordKey(entity: entity, number: number)
            let new = try after.copy(of: object)
            if let new, try hasSameValues(old, new.span.bytes, of: entity) { return }
            try body(RecordChange(object: object, old: [UInt8](copying: old), new: new))
        }
        try passReturned(before: .max)
        try forEachInserted(entity, from: before.firstInserted, until: after.firstInserted, deleted: after, body)
    }

    /// Calls the body with each object of an entity that existed at a commit and has another record now, or none.
    /// O(k log n) for k log entries since then. Throws `logTooShort` if the log doesn't reach back to the commit.
    package func forEachChanged(of entity: Int, from first: UInt64, _ body: (RecordKey) throws -> Void) throws {
        guard logReaches(back: first) else { throw StoreError.logTooShort(commit: first) }
        var firstInserted = UInt64.max
        var seen = SparseSet()
        try forEachLogEntry(of: entity, after: first, through: commit) { entry, old in
            guard entry.kind != .inserted else {
                firstInserted = min(firstInserted, entry.object.number)
                return
            }
            // The oldest record is the one at the commit, see `PastRecords`.
            guard entry.object.number < firstInserted, seen.insert(entry.object.number), entry.kind != .returned else {
                return
            }
            let isSame = try old.withUnsafeBytes { old in
                var isSame = false
                _ = try record(entry.object) { isSame = try hasSameValues($0, old.bytes, of: entity) }
                return isSame
            }
            if !isSame { try body(entry.object) }
        }
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
            if let before, try hasSameValues(before.span.bytes, record, of: entity) { return true }
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

    /// Calls the body with the objects with numbers in `first..<end`, which were inserted between two commits, if they
    /// exist at the second commit. Passes their current records, or if later commits changed or deleted an object, its
    /// record at the second commit.
    private func forEachInserted(
        _ entity: Int, from first: UInt64, until end: UInt64, deleted after: PastRecords,
        _ body: (RecordChange) throws -> Void
    ) throws {
        guard first < end else { return }
        var logged = after.numbers(in: first..<end)[...]
        func pass(_ number: UInt64, _ record: [UInt8]?) throws {
            try body(RecordChange(object: RecordKey(entity: entity, number: number), old: nil, new: record))
        }
        func passLogged(through number: UInt64) throws -> Bool {
            var isPassed = false
            while let next = logged.first, next <= number {
                logged.removeFirst()
                try pass(next, after.copy(of: RecordKey(entity: entity, number: next)))
                isPassed = next == number
            }
            return isPassed
        }
        try scan(entity, from: first) { object, record in
            guard object.number < end else { return false }
            if try !passLogged(through: object.number), !after.isInserted(object.number) {
                try pass(object.number, [UInt8](copying: record))
            }
            return true
        }
        _ = try passLogged(through: end)
    }
}
