internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexLMDB

/// Rebuilds the data that is derived from records. Records are changed or deleted only if they refer to objects that
/// are missing or of a wrong entity. Reports have a sentence for each kind of defect, and for each entity whose
/// counters were wrong.
extension StoreWriter {
    /// Repairs the identifier, origins, zones, columns, unique keys, links, counters and log. Returns a report. Calls
    /// `progress` with the number of records whose unique keys were checked. O(n log n + bytes of the log).
    package func repair(progress: (Int) -> Void) throws -> [String] {
        let hasNewIdentifier = try StoreIdentifier.repair(in: view, tables)
        let hasLostOrigins = try repairOrigins()
        return
            (hasNewIdentifier
            ? ["the store's identifier was damaged: it has a new one, and saved object ids are refused"] : [])
            + (hasLostOrigins
                ? ["the origins of the store's object numbers were damaged: object numbers of other stores are refused"]
                : [])
            // Zones are repaired first, since writing a record reads its zone.
            + (try repairZones() + repairUniqueKeys(progress: progress) + repairLinks() + repairCounters() + repairLog())
    }

    private func repairUniqueKeys(progress: (Int) -> Void) throws -> [String] {
        let entered = try enterUniqueKeys(progress: progress)
        let removed = try removeUniqueKeys()
        if state.unkeyed != nil { endUnkeyed() }
        var done: [String] = []
        if entered > 0 {
            done.append("\(counted(entered, "unique key was", "unique keys were")) missing or wrong: added")
        }
        if removed > 0 { done.append("\(counted(removed, "unique key")) led to no object that has the value: removed") }
        return done
    }

    /// Adds missing unique keys and corrects wrong ones: they lead to the first intact record with their value. A key
    /// that leads to a record with its value, or to a damaged record, stays. Returns the number of changed keys.
    private func enterUniqueKeys(progress: (Int) -> Void) throws -> Int {
        var entered = 0
        var read = 0
        for entity in model.entities.indices where !model.entities[entity].uniqueConstraints.isEmpty {
            try scanStored(entity) { object, record in
                read += 1
                if read % 4096 == 0 { progress(read) }
                for key in uniqueKeys(of: object, record) where !leadsToItsObject(key) {
                    try putUniqueKey(key, of: object)
                    entered += 1
                }
                return true
            }
        }
        return entered
    }

    /// The unique keys of a record; empty if the record is damaged. The keys are copies, since the next write makes the
    /// record invalid.
    private func uniqueKeys(of object: RecordKey, _ record: RawSpan) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        guard isWhole(record) else { return [] }
        for constraint in model.entities[object.entity].uniqueConstraints {
            if let key = try? storableUniqueKey(object.entity, constraint, record) { keys.append(key) }
        }
        return keys
    }

    private func isWhole(_ record: RawSpan) -> Bool { record.endsWithChecksum() }

    /// Whether a unique key may stay: it leads to an object that has the value, or whose damaged record may have it.
    private func leadsToItsObject(_ key: [UInt8]) -> Bool {
        guard let object = try? object(unique: key) else { return false }
        var isRight = false
        _ = try? storedRecord(object) { record in
            isRight = !isWhole(record) || uniqueKeys(of: object, record).contains(key)
        }
        return isRight
    }

    private func removeUniqueKeys() throws -> Int {
        var removed = 0
        try view.forEachEntry(in: tables.unique) { cursor in
            let key = [UInt8](copying: cursor.key)
            if !LinkKey.isLink(cursor.key), !leadsToItsObject(key) {
                try cursor.deleteCurrent()
                removed += 1
            }
        }
        return removed
    }

    /// Counts the objects of each entity. If the number of the next object can be read, it may become greater but not
    /// less, because lower numbers may have been used.
    private func repairCounters() throws -> [String] {
        var counters = [EntityState](repeating: EntityState(), count: model.entities.count)
        for entity in model.entities.indices {
            try scanStored(entity) { object, _ in
                counters[entity].count += 1
                counters[entity].nextObject = max(counters[entity].nextObject, object.number + 1)
                return true
            }
        }
        // The log may contain changes of deleted objects, whose numbers must not be used again.
        var commit = state.commit
        while commit > state.logStart {
            try? forEachLogEntry(of: nil, after: commit - 1, through: commit) { entry, _ in
                let entity = entry.object.entity
                guard counters.indices.contains(entity) else { return }
                let next = min(entry.object.number &+ entry.count, RecordKey.firstTemporaryNumber)
                counters[entity].nextObject = max(counters[entity].nextObject, next)
            }
            commit -= 1
        }
        var done: [String] = []
        for (entity, counters) in counters.enumerated() {
            let stored = try? entityState(entity)
            var right = counters
            right.nextObject = max(right.nextObject, stored?.nextObject ?? 0)
            if stored == right { continue }
            try view.put(right.encoded, for: StoreLayout.entityKey(entity), in: tables.meta)
            done.append(
                "\(model.entities[entity].name)'s counters were wrong: set to \(counted(right.count, "object"))")
        }
        return done
    }
}
