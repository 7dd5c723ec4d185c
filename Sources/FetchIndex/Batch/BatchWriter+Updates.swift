internal import FetchIndexModels
internal import FetchIndexRecords

/// The objects that the updates of one transaction changed.
struct UpdatedRows {
    private var updated = ObjectNumbers()
    /// For each object that several updates changed, the number of its updates after the first one.
    private(set) var repeated: [UInt64: Int] = [:]

    /// Notes an update that changed an object.
    mutating func note(_ number: UInt64) {
        if updated.contains(number) { repeated[number, default: 0] += 1 } else { updated.insert(number) }
    }
}

// Objects that exchange unique values.
extension BatchWriter {
    /// Whether `releaseUniqueValues` can be used: unique values are neither derived nor references to related objects.
    package var canReleaseUniqueValues: Bool {
        entity.uniqueConstraints.flatMap(\.slots).allSatisfy { slot in
            entity.slots[slot].role == .attribute && entity.slots[slot].attribute.derivation == nil
        }
    }

    /// Releases the unique values that objects lose by updates, so that the updates can give them to other objects. The
    /// caller must make all the updates, or roll back. O(log n) for each object. Throws `StoreError`.
    package func releaseUniqueValues(for updates: some Sequence<(object: ObjectID, values: [Value])>) throws {
        try withPublicErrors {
            let writer = try transaction()
            for (object, values) in updates {
                let key = try key(of: object)
                guard let old = try writer.copy(of: key) else { throw StoreError.unknownObject("\(object.number)") }
                let new = try entity.record(values)
                try writer.releaseUniqueKeys(of: key, old.span.bytes, for: new.span.bytes)
            }
        }
    }
}

// Several updates of one object.
extension BatchWriter {
    /// Prepares the open transaction for its commit: writes deferred unique keys, and counts several updates of an
    /// object as one, or as unchanged if they undo each other. If all changes of the transaction undo each other,
    /// replaces it by a transaction without changes, so that no new commit is made. O(log n) for each object with
    /// several updates, and O(n log n) if keys were deferred.
    func settleUpdates() throws {
        if isDeferring { try stopDeferring() }
        // The old transaction must release its lock before the new one begins.
        guard try countUpdates() else { return }
        writer = nil
        _ = try transaction()
    }

    /// Counts several updates of an object as one, or as unchanged. Returns whether all changes of the transaction undo
    /// each other.
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
