package import FetchIndexModels
package import FetchIndexRecords

/// The order in which members are passed to a closure.
package enum WalkOrder {
    /// By entity, then by object number; new unsaved objects last. O(n), besides edits and records that key paths lead
    /// to.
    case byNumber
    /// By row key: by section value, then by sort key. Only the first `most` members are passed. O(n log n); O(n log k)
    /// if `most` is a small k, because other members are dropped early.
    case byRow(most: Int)
}

extension OrderBuilder {
    /// Calls the body with one member of the order after the other, until the body returns false. `edits` replace the
    /// reader's records; nil excludes an object.
    package func walkMembers(
        of reader: StoreReader, from selection: RecordSelection = .all, replacing edits: [RecordKey: [UInt8]?] = [:],
        _ order: WalkOrder = .byNumber, _ body: (RecordKey) throws -> Bool
    ) throws {
        guard case .byRow(let most) = order else { return try walkByNumber(reader, selection, edits, body) }
        var shouldContinue = true
        try forEachSortedKey(from: reader, selection, replacing: edits, wanted: WantedRows(most: most)) { row in
            try SortedEntry.withParts(of: row, in: shape) { key, _ in
                guard shouldContinue, let object = RowKey.object(in: key, entity: rowEntity) else { return }
                shouldContinue = try body(object)
            }
        }
    }

    /// Walks over the members by entity and object number. Reads on several threads if there are many records. Edited
    /// objects come in the order of their numbers, too; new objects are last.
    private func walkByNumber(
        _ reader: StoreReader, _ selection: RecordSelection, _ edits: [RecordKey: [UInt8]?],
        _ body: (RecordKey) throws -> Bool
    ) throws {
        let scan = try Scan(of: reader, stored(selection, besides: edits), entities: entities)
        let placers = try blockPlacers(of: scan, besides: edits)
        var edited = EditedMembers(of: self, edits, in: reader)
        var shouldContinue = true
        for entity in entities where shouldContinue {
            for placer in placers { placer.begin(entity) }
            try requiringRecords {
                try scan.forEachSelected(of: entity, where: placers.map(\.filter)) { thread, block in
                    try placers[thread].keepMembers(of: &block)
                } _: { object in
                    shouldContinue = try edited.forEach(before: object, body) && body(object)
                    return shouldContinue
                }
            }
            if shouldContinue {
                shouldContinue = try edited.forEach(before: RecordKey(entity: entity + 1, number: 0), body)
            }
        }
        if shouldContinue { try edited.forEachNew(body) }
    }

    /// The part of a selection that a scan reads. Records with edits may be left out, because they are placed
    /// separately.
    func stored(_ selection: RecordSelection, besides edits: [RecordKey: [UInt8]?]) -> RecordSelection {
        if edits.isEmpty { return selection }
        // If related objects have edits, an object without edits may match although it isn't among the store's
        // candidates. So all records are read.
        if hasPaths, case .objects = selection { return .all }
        return selection.excluding { edits.index(forKey: $0) != nil }
    }

    /// The state in which key paths are followed; nil if the order has no paths.
    func relatedState(of reader: StoreReader, replacing edits: [RecordKey: [UInt8]?]) -> (any RecordState)? {
        if !hasPaths { return nil }
        return edits.isEmpty ? reader : ChangedState(edits, over: reader)
    }

    /// Calls the body. Throws `DamagedOrder` if a candidate has no record.
    func requiringRecords(_ body: () throws -> Void) throws {
        do { try body() } catch let missing as MissingObject {
            throw SectionedOrder.corrupted(
                "a cache, unique key or link leads to object \(missing.object.number), which does not exist")
        }
    }
}

/// Finds the members among edited records, by object number. A record is placed only when the walk reaches it, so that
/// an error after the last wanted member isn't thrown.
private struct EditedMembers {
    private let builder: OrderBuilder
    private let reader: StoreReader
    private let related: (any RecordState)?
    private var placement: RowPlacement
    /// Edited records of saved objects, by entity and object number.
    private var stored: ArraySlice<(object: RecordKey, record: [UInt8])> = []
    /// Records of new objects, by temporary number.
    private var new: [(object: RecordKey, record: [UInt8])] = []

    init(of builder: OrderBuilder, _ edits: [RecordKey: [UInt8]?], in reader: StoreReader) {
        (self.builder, self.reader) = (builder, reader)
        related = builder.relatedState(of: reader, replacing: edits)
        placement = builder.placement
        for (object, record) in edits.sorted(by: { $0.key < $1.key }) where builder.has(object.entity) {
            guard let record else { continue }
            if object.isTemporary { new.append((object, record)) } else { stored.append((object, record)) }
        }
    }

    /// Calls the body with the members before an object, until the body returns false. Returns false if the body did.
    mutating func forEach(before end: RecordKey, _ body: (RecordKey) throws -> Bool) throws -> Bool {
        while let next = stored.first, next.object < end {
            stored.removeFirst()
            // An edited object that another writer has deleted isn't a member.
            guard try reader.record(next.object, { _ in }), try isMember(next.object, next.record) else { continue }
            if try !body(next.object) { return false }
        }
        return true
    }

    mutating func forEachNew(_ body: (RecordKey) throws -> Bool) throws {
        for (object, record) in new where try isMember(object, record) && !body(object) { return }
    }

    private mutating func isMember(_ object: RecordKey, _ record: [UInt8]) throws -> Bool {
        placement.begin()
        guard let placer = try builder.placer(of: object.entity) else { return false }
        return try placer.place(object, record.span.bytes, in: related, &placement)
    }
}
