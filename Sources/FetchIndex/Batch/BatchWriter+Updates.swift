internal import FetchIndexModels
internal import FetchIndexRecords

/// Objects that rows of one transaction updated.
struct UpdatedRows {
    private var updated = ObjectNumbers()
    /// For each object that several rows changed, the number of these rows after the first one.
    private(set) var repeated: [UInt64: Int] = [:]

    /// Notes a row that changed an object.
    mutating func note(_ number: UInt64) {
        if updated.contains(number) { repeated[number, default: 0] += 1 } else { updated.insert(number) }
    }
}

// Several updates of one object.
extension BatchWriter {
    /// Prepares the open transaction for its commit. Several updates of an object count as one, or as none if they undo
    /// each other. A transaction that consists of updates which undo each other is replaced by one without changes, so
    /// that it makes no commit. O(log n) for each object with several updates.
    func settleUpdates() throws {
        try endDeferral()
        // The lock of the old transaction must be free before the next one begins.
        guard try countUpdates() else { return }
        writer = nil
        _ = try transaction()
    }

    /// Counts several updates of an object as one or none. Returns whether the transaction consists of updates that
    /// undo each other.
    private func countUpdates() throws -> Bool {
        guard let writer, !updatedRows.repeated.isEmpty else { return false }
        let before = try store.snapshot()
        var undone = 0
        for (number, count) in updatedRows.repeated {
            let object = RecordKey(entity: entityNumber, number: number)
            let isUndone = try before.copy(of: object) == writer.copy(of: object)
            let unchanged = isUndone ? count + 1 : count
            counts.updated -= unchanged
            counts.unchanged += unchanged
            if isUndone { undone += 1 }
        }
        updatedRows = UpdatedRows()
        return undone == writer.changeCount
    }
}
