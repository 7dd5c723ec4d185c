internal import FetchIndexPlatform
internal import FetchIndexLMDB
package import FetchIndexModels

extension StoreReader {
    /// The defects of the identifier, origins, attachments, records, unique keys, links, counters, zones, columns and
    /// log, one sentence each. Calls `progress` with the number of records read so far. O(n log n + bytes of the log).
    package func check(progress: (Int) -> Void = { _ in }) throws -> [String] {
        var defects = try checkFacts()
        var counts = [UInt64](repeating: 0, count: model.entities.count)
        var uniqueKeys = 0
        var links = LinkCheck(self)
        var zones = ZoneCheck(self)
        var read = 0
        let states = model.entities.indices.map { entity in Result { try entityState(entity) } }
        try view.forEachEntry(in: tables.records) { cursor in
            let (object, record) = (RecordKey(rawValue: cursor.integerKey), cursor.value)
            read += 1
            if read % 4096 == 0 { progress(read) }
            guard object.entity < counts.count else {
                defects.append("object \(object.number) belongs to entity \(object.entity), which is not in the model")
                return
            }
            counts[object.entity] += 1
            if let next = try? states[object.entity].get().nextObject, object.number >= next {
                defects.append("\(name(of: object)): its object number is not below the entity's next one")
            }
            defects += checkRecord(object, record, &uniqueKeys)
            links.read(object, record)
            zones.read(object, record)
        }
        progress(read)
        for (entity, count) in counts.enumerated() {
            if let defect = check(count, states[entity]) { defects.append(model.entities[entity].name + defect) }
        }
        let stored = try view.statistics(of: tables.unique).entries - links.end()
        defects += links.defects
        try zones.end()
        defects += zones.defects
        // If objects may lack their unique keys, the number of unique keys isn't checked.
        if state.unkeyed == nil, stored != uniqueKeys {
            defects.append("there are \(stored) unique keys for \(uniqueKeys) unique values")
        }
        return defects + checkLog()
    }

    /// The defects of the identifier, origins and attachments.
    private func checkFacts() throws -> [String] {
        var defects: [String] = []
        do { _ = try StoreIdentifier.read(in: view, tables) } catch { defects.append("\(error)") }
        do { _ = try (numbersOrigin(), originals()) } catch { defects.append("\(error)") }
        for name in Attachment.allCases {
            for part in try parts(of: name) {
                do { _ = try attachment(name, of: part) } catch { defects.append("\(error)") }
            }
        }
        return defects
    }

    /// The defect of an entity's counters, to be appended to its name.
    private func check(_ count: UInt64, _ state: Result<EntityState, any Error>) -> String? {
        do {
            let state = try state.get()
            return state.count == count ? nil : " counts \(counted(state.count, "object")), but has \(count)"
        } catch {
            return "'s counters: \(error)"
        }
    }

    /// An entity's objects with records that don't match their checksums. Appends the other objects to `sound` unless
    /// it's nil. Throws `corrupted` if the number of records differs from the entity's count: a caller that skips
    /// damaged records wouldn't notice lost ones. O(n).
    package func damagedRecords(of entity: Int, sound: inout [RecordKey]?) throws -> [RecordKey] {
        var damaged: [RecordKey] = []
        var scanned: UInt64 = 0
        try scanStored(entity) { object, record in
            scanned += 1
            if record.endsWithChecksum() { sound?.append(object) } else { damaged.append(object) }
            return true
        }
        try requireCount(of: entity, scanned)
        return damaged
    }

    private func checkRecord(_ object: RecordKey, _ record: RawSpan, _ uniqueKeys: inout Int) -> [String] {
        let entity = model.entities[object.entity]
        let name = name(of: object)
        do {
            let view = try RecordView(record, of: entity)
            var defects = view.check(as: entity).map { "\(name): \($0)" }
            for constraint in entity.uniqueConstraints {
                let unique = "\(name): its unique key for \(entity.name(of: constraint))"
                do {
                    guard let key = try uniqueKey(object.entity, constraint, record) else { continue }
                    uniqueKeys += 1
                    let found = key.count > Table.maximumKeyLength ? nil : try self.object(unique: key)
                    if found == nil && !mustHaveUniqueKeys(object) { continue }
                    if found != object { defects.append("\(unique) does not lead to it") }
                } catch {
                    defects.append("\(unique): \(error)")
                }
            }
            return defects
        } catch {
            return ["\(name): \(error)"]
        }
    }

    private func checkLog() -> [String] {
        var check = LogCheck(state)
        do {
            try view.forEachEntry(in: tables.log) { cursor in
                check.read(cursor.key, cursor.value)
            }
            check.end()
            return check.defects
        } catch {
            return check.defects + ["\(error)"]
        }
    }
}
