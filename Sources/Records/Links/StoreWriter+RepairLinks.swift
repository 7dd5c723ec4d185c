internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexValues

/// Repairs link keys from the records. If an intact record and a link key disagree, the record is right.
extension StoreWriter {
    /// Adds missing link keys, removes link keys that no record has, and corrects the counts of links. Sets references
    /// to missing objects and to objects of a wrong entity to nil, or deletes the record if it's a join object. A
    /// reference to a missing object stays if the inverse relationship has the rule no action. Gives links of relationships
    /// that are their own inverses their turned links. Returns a report of the repair, one sentence for each kind of defect. O(n log n) for the records of entities with relationships.
    func repairLinks() throws -> [String] {
        let entered = try enterLinks()
        let (removed, recounted) = try (removeStrayLinks(), recountLinks())
        acceptsMissingReferences = true
        defer { acceptsMissingReferences = false }
        let lost = try clearLostReferences()
        let turned = try noteOneSidedLinks()
        var done: [String] = []
        if lost > 0 {
            done.append("\(counted(lost, "reference")) led to objects that are missing or of another entity: removed")
        }
        if entered > 0 { done.append("\(counted(entered, "link was", "links were")) missing or damaged: added") }
        if turned > 0 {
            done.append(
                "\(counted(turned, "link")) of relationships that are their own inverses led one way: completed")
        }
        if removed > 0 { done.append("\(counted(removed, "link was", "links were")) not in any record: removed") }
        if recounted > 0 { done.append("the links of \(counted(recounted, "object")) were counted wrong: corrected") }
        return done
    }

    private func forEachReference(_ body: (RecordKey, EntityLinks.Reference, StoredLink) throws -> Void) throws {
        for (entity, links) in linksByEntity.enumerated() {
            guard let references = links?.references, !references.isEmpty else { continue }
            let stored = model.entities[entity]
            try scanStored(entity) { object, record in
                guard record.endsWithChecksum(), let view = try? RecordView(record, of: stored) else { return true }
                for reference in references {
                    if let link = try? StoredLink(reference, of: view, object) { try body(object, reference, link) }
                }
                return true
            }
        }
    }

    private func clearLostReferences() throws -> Int {
        var lost: [(RecordKey, EntityLinks.Reference)] = []
        try forEachReference { object, reference, link in
            var isThere = reference.destinations.contains(link.target.entity)
            if isThere && !reference.mayDangle { isThere = try storedRecord(link.target) { _ in } }
            if !isThere { lost.append((object, reference)) }
        }
        for (object, reference) in lost {
            guard let record = try copy(of: object) else { continue }
            // A join object is useless without one of its two references, so it's deleted.
            if reference.other != nil {
                try remove(object)
                continue
            }
            let new = try model.entities[object.entity].record(
                record.span.bytes, setting: [reference.slot: .null, reference.position: .null])
            try update(object, new.span.bytes)
        }
        return lost.count
    }

    /// Notes the links without turned links, which are completed when the transaction is sealed.
    private func noteOneSidedLinks() throws -> Int {
        if !hasSymmetricLinks { return 0 }
        symmetricLinks = []
        try forEachReference { object, reference, _ in
            guard reference.isSymmetric else { return }
            _ = try storedRecord(object) { try noteSymmetricLinks(of: object, $0) }
        }
        symmetricLinks = try symmetricLinks.filter { try !isComplete($0) }
        return symmetricLinks.count
    }

    private func enterLinks() throws -> Int {
        var missing: [StoredLink] = []
        try forEachReference { _, _, link in
            var isWhole = false
            _ = try view.get(link.key, in: tables.unique) { isWhole = LinkKey.isWhole(link.key.span.bytes, $0) }
            if !isWhole { missing.append(link) }
        }
        for link in missing { try view.put(LinkKey.value(of: link.key), for: link.key, in: tables.unique) }
        return missing.count
    }

    private func removeStrayLinks() throws -> Int {
        var strays: [[UInt8]] = []
        try view.walk(tables.unique, from: [LinkKey.firstByte].span.bytes) { cursor in
            let key = [UInt8](copying: cursor.key)
            if !belongsToRecord(key) { strays.append(key) }
            return true
        }
        for key in strays { try view.delete(key, in: tables.unique) }
        return strays.count
    }

    /// Whether a link key may stay: it's a count, or a record has this link, or a damaged record may have it.
    private func belongsToRecord(_ key: [UInt8]) -> Bool {
        guard let link = LinkKey(key.span.bytes) else { return false }
        guard let holder = link.holder else { return true }
        guard let reference = links(of: holder.entity)?.references.first(where: { $0.name == link.name })
        else { return false }
        var isRight = false
        let entity = model.entities[holder.entity]
        _ = try? storedRecord(holder) { record in
            let isDamaged = !record.endsWithChecksum()
            isRight = try isDamaged || StoredLink(reference, of: RecordView(record, of: entity), holder)?.key == key
        }
        return isRight
    }

    private func recountLinks() throws -> Int {
        var counts: [[UInt8]: UInt64] = [:]
        var wrong: Set<[UInt8]> = []
        var stored: [[UInt8]: UInt64] = [:]
        try view.walk(tables.unique, from: [LinkKey.firstByte].span.bytes) { cursor in
            let key = [UInt8](copying: cursor.key)
            if key.count == LinkKey.targetLength {
                if let count = try? LinkKey.count(cursor.value, under: cursor.key) { stored[key] = count }
                counts[key, default: 0] += 0
            } else {
                counts[Array(key[..<LinkKey.targetLength]), default: 0] += 1
            }
            return true
        }
        for (key, count) in counts where stored[key] != count { wrong.insert(key) }
        for key in wrong {
            let count = counts[key] ?? 0
            if count == 0 {
                try view.delete(key, in: tables.unique)
            } else {
                try view.put(LinkKey.count(count, under: key), for: key, in: tables.unique)
            }
        }
        return wrong.count
    }
}
