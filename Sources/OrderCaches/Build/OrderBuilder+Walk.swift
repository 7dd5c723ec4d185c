package import FetchIndexModels
package import FetchIndexRecords

extension OrderBuilder {
    /// Calls the body with each member of an order among a reader's records, until it returns false. `replaced` substitutes
    /// records; nil excludes one. By object number in O(n), or with `isSorted` in the order of the rows in O(n log n); O(n + k log k)
    /// when the caller takes k of them at most.
    package func walkMembers(
        of reader: StoreReader, from source: RecordSource = .all, replacing replaced: [RecordKey: [UInt8]?] = [:],
        isSorted: Bool = false, atMost most: Int = .max, _ body: (RecordKey) throws -> Bool
    ) throws {
        guard isSorted else { return try walkUnsorted(reader, source, replaced, body) }
        var shouldContinue = true
        try forEachSortedKey(from: reader, source, replacing: replaced, wanted: WantedRows(most: most)) { row in
            try SortedEntry.withParts(of: row, in: shape) { key, _ in
                guard shouldContinue, let object = RowKey.object(in: key, entity: rowEntity) else { return }
                shouldContinue = try body(object)
            }
        }
    }

    /// By object number, on several threads where there are many records.
    private func walkUnsorted(
        _ reader: StoreReader, _ source: RecordSource, _ replaced: [RecordKey: [UInt8]?],
        _ body: (RecordKey) throws -> Bool
    ) throws {
        guard source.objects == nil else {
            return try walkPlaced(of: reader, source, replaced) { object, _ in try body(object) }
        }
        let own = self.own(of: replaced)
        // A replaced record may match where the stored one did not.
        let source = source.including(own.keys)
        let count = try reader.count(of: entities)
        let scan = ParallelScan(of: reader, objects: count - min(count, source.skippedCount))
        let threads = try placingThreads(scan, of: reader, replacing: replaced)
        var shouldContinue = true
        for (index, entity) in entities.enumerated() where shouldContinue {
            for thread in threads { thread.begin(index) }
            let edited = own.keys.filter { $0.entity == entity && !$0.isTemporary }.map(\.number)
            let filters = threads.map { $0.filter(alsoReading: edited) }
            try scan.forEachSelected(of: entity, in: source.numbers(of: entity), where: filters) { thread, block in
                try threads[thread].keepMembers(of: &block, replacing: own)
            } _: { object in
                shouldContinue = try body(object)
                return shouldContinue
            }
        }
        let related = relatedState(of: reader, replacing: replaced)
        if shouldContinue { try walkUnsaved(own, related) { object, _ in try body(object) } }
    }

    /// Of replaced records, those of objects that may be in the order.
    func own(of replaced: [RecordKey: [UInt8]?]) -> [RecordKey: [UInt8]?] {
        replaced.isEmpty ? replaced : replaced.filter { has($0.key.entity) }
    }

    /// Where the records that paths lead to are read; nil without paths.
    func relatedState(of reader: StoreReader, replacing replaced: [RecordKey: [UInt8]?]) -> (any RecordState)? {
        if !hasPaths { return nil }
        return replaced.isEmpty ? reader : ChangedState(replaced, over: reader)
    }

    /// Calls the body with the members and their placements, by object number, new ones last.
    func walkPlaced(
        of reader: StoreReader, _ source: RecordSource, _ replaced: [RecordKey: [UInt8]?],
        _ body: (RecordKey, inout RowPlacement) throws -> Bool
    ) throws {
        let own = self.own(of: replaced)
        let related = relatedState(of: reader, replacing: replaced)
        // No local function captures the placement: a captured variable pays an exclusivity check at each access.
        var placement = placement
        let hasOwn = !own.isEmpty
        var shouldContinue = true
        var source = source
        // An object without edits may match by those of related ones: then the candidates of the store are not enough.
        if related != nil && !replaced.isEmpty {
            source = .all
        } else if hasOwn, let found = source.objects {
            // A replaced record may match where the stored one did not.
            source = .objects(Set(found).union(own.keys.filter { !$0.isTemporary }).sorted())
        }
        for entity in entities where shouldContinue {
            guard let placer = try placer(of: entity) else { continue }
            try reader.forEachRecord(of: entity, from: source, unlessGone: { own[$0] != nil }) { object, record in
                guard hasOwn, let replacement = own[object] else {
                    placement.begin()
                    guard try placer.place(object, record, related, &placement) else { return true }
                    shouldContinue = try body(object, &placement)
                    return shouldContinue
                }
                if let replacement { shouldContinue = try place(object, replacement, related, &placement, body) }
                return shouldContinue
            }
        }
        if shouldContinue { try walkUnsaved(own, related, body) }
    }

    /// The members among new objects.
    private func walkUnsaved(
        _ own: [RecordKey: [UInt8]?], _ related: (any RecordState)?,
        _ body: (RecordKey, inout RowPlacement) throws -> Bool
    ) throws {
        var placement = placement
        for (object, record) in own.sorted(by: { $0.key < $1.key }) where object.isTemporary {
            if let record, try !place(object, record, related, &placement, body) { return }
        }
    }

    private func place(
        _ object: RecordKey, _ record: [UInt8], _ related: (any RecordState)?, _ placement: inout RowPlacement,
        _ body: (RecordKey, inout RowPlacement) throws -> Bool
    ) throws -> Bool {
        placement.begin()
        guard let placer = try placer(of: object.entity),
            try placer.place(object, record.span.bytes, related, &placement)
        else { return true }
        return try body(object, &placement)
    }
}

extension RowPlacer {
    /// Places an object, with the records that paths lead to where there is a state to read them in.
    func place(
        _ object: RecordKey, _ record: RawSpan, _ related: (any RecordState)?, _ placement: inout RowPlacement
    ) throws -> Bool {
        guard let related else { return try place(record, &placement) }
        return try place(object, record, in: related, &placement)
    }
}
