internal import FetchIndexModels
internal import FetchIndexRecords

/// Writes rows with related objects.
struct RowLinker {
    private let columns: [RelatedColumn]
    /// Links that could not be made when their rows were written.
    private var missing = WaitingLinks<MissingLink>()
    /// The object numbers of written rows, by the giver and the number that they have in the file. Used if
    /// `resolvesInFile`. Takes 16 bytes and more for each row.
    private var objects: [NumberGiver: [UInt64: UInt64]] = [:]
    private let owner: NumberOwner
    private let resolvesInFile: Bool
    private let entity: Int
    /// Links to rows that haven't arrived yet.
    private var later = WaitingLinks<LaterLinks>()

    /// Whether links wait for later rows.
    var hasLater: Bool { laterCount > 0 }
    var laterCount: Int { missing.count + later.count }

    private struct LaterLinks {
        let column: Int
        let related: RelatedObject
        let giver: NumberGiver
        let isOfUnchanged: Bool
    }

    init(_ columns: [RelatedColumn], _ owner: NumberOwner, resolvesInFile: Bool, of entity: Int) {
        (self.columns, self.owner, self.entity) = (columns, owner, entity)
        self.resolvesInFile = resolvesInFile && !columns.isEmpty
    }

    /// Writes a batch. `done` gets the outcome of each row; `refused` gets the error that a row's values cause. An
    /// error thrown by either ends the batch.
    mutating func put(
        _ batch: borrowing RowBatch, with writer: BatchWriter, refused: (Int, StoreError) throws -> Void,
        done: (Int, WriteOutcome) throws -> Void
    ) throws {
        let used = batch.usedColumns
        if !batch.hasNumbers && !hasLater && used.allSatisfy({ columns[$0].isPlain }) {
            return try putPlain(batch, used.map { columns[$0] }, with: writer, refused: refused, done: done)
        }
        for index in 0..<batch.records.count {
            let links = batch.links[index]
            var related = links.related
            let delayed = resolvesInFile ? resolve(&related, links.giver) : []
            let row = LinkedRow(
                batch.records.copy(at: index), number: links.number, related,
                keeping: batch.records.keptSlots(at: index))
            let outcome: WriteOutcome
            do {
                let written = try writer.write(row, columns)
                outcome = written.outcome
                let number = outcome.object.number
                forget(number, links.related)
                if resolvesInFile, let name = links.fileNumber {
                    objects[links.giver, default: [:]][name] = number
                }
                for column in delayed {
                    let waiting = LaterLinks(
                        column: column, related: links.related[column], giver: links.giver,
                        isOfUnchanged: outcome.isUnchanged)
                    later.append(waiting, of: number, line: batch.lines[index])
                }
                for link in written.missing { missing.append(link, of: number, line: batch.lines[index]) }
            } catch let error as StoreError where error.isOfValues {
                try refused(index, error)
                continue
            }
            try done(index, outcome)
        }
    }

    /// Forgets the waiting links of an object in those columns that a later row of it decides.
    private mutating func forget(_ number: UInt64, _ related: [RelatedObject]) {
        if !hasLater { return }
        var decided: Set<String> = []
        for (column, object) in zip(columns, related) {
            if case .absent = object { continue }
            decided.insert(column.relationship)
        }
        let columns = columns
        missing.removeAll(of: number) { decided.contains($1.relationship) }
        later.removeAll(of: number) { decided.contains(columns[$1.column].relationship) }
    }

    /// Forgets the waiting links of rows that are written again. `numbers` are the numbers of their objects.
    mutating func forgetLater(of rows: RowBatch, _ numbers: [UInt64]) {
        if !hasLater || !rows.hasLinks { return }
        for (line, number) in zip(rows.lines, numbers) {
            missing.removeAll(of: number) { other, _ in other == line }
            later.removeAll(of: number) { other, _ in other == line }
        }
    }

    /// Replaces file numbers by the numbers of the rows' objects. Returns the columns that name rows which haven't
    /// arrived yet, and makes these columns absent.
    private func resolve(_ related: inout [RelatedObject], _ giver: NumberGiver) -> [Int] {
        var delayed: [Int] = []
        for (place, object) in related.enumerated() {
            if let resolved = resolved(object, giver) {
                related[place] = resolved
            } else {
                related[place] = .absent
                delayed.append(place)
            }
        }
        return delayed
    }

    /// Replaces file numbers by object numbers; nil if a row hasn't arrived. With `orStored`, the number of a missing
    /// row may name a stored object.
    private func resolved(
        _ object: RelatedObject, _ giver: NumberGiver, orStored: Bool = false
    ) -> RelatedObject? {
        func own(_ link: RowLink) -> RowLink? {
            guard link.object.entity == entity else { return link }
            guard let number = objects[giver]?[link.object.number] else {
                return orStored && owner.wasStored(link.object.number, of: entity, by: giver) ? link : nil
            }
            let object = RecordKey(entity: entity, number: number)
            return RowLink(object, position: link.position, otherPosition: link.otherPosition)
        }
        switch object {
        case .absent, .none, .named: return object
        case .object(let link): return own(link).map { .object($0) }
        case .list(let links):
            let found = links.compactMap(own)
            return found.count == links.count ? .list(found) : nil
        }
    }

    private func areStored(_ related: RelatedObject, _ writer: BatchWriter) throws -> Bool {
        switch related {
        case .object(let link): try writer.object(number: link.object.number) != nil
        case .list(let links): try links.allSatisfy { try writer.object(number: $0.object.number) != nil }
        case .absent, .none, .named: true
        }
    }

    /// Makes the links to rows that have arrived. A number that no row has may name a stored object. Returns the line
    /// and the reason of each link that can't be made yet.
    private mutating func linkLater(
        with writer: BatchWriter, atEnd isAtEnd: Bool
    ) throws -> [(line: Int, reason: StoreError)] {
        var reasons: [(line: Int, reason: StoreError)] = []
        for (number, line, links) in later.removeAll() {
            var related = resolved(links.related, links.giver)
            if related == nil, try isAtEnd || areStored(links.related, writer) {
                related = resolved(links.related, links.giver, orStored: true)
            }
            guard let related else {
                later.append(links, of: number, line: line)
                reasons.append(
                    (
                        line,
                        .invalidValue(
                            entity: writer.entity.name, attribute: columns[links.column].relationship,
                            "names a row by its number, which is not in the file")
                    ))
                continue
            }
            let more = try writer.link(
                number, columns[links.column], to: related, isOfUnchanged: links.isOfUnchanged)
            for link in more { missing.append(link, of: number, line: line) }
        }
        return reasons
    }

    /// Writes rows whose columns are plain. The rows between two refused ones are one batch, so that their unique keys
    /// are looked up and written in order.
    private func putPlain(
        _ batch: borrowing RowBatch, _ used: [RelatedColumn], with writer: BatchWriter,
        refused: (Int, StoreError) throws -> Void,
        done: (Int, WriteOutcome) throws -> Void
    ) throws {
        let related = used.reduce(into: Set<Int>()) { $0.formUnion($1.slots) }
        var linked = RecordBatch()
        var first = 0
        var last: (own: KeptSlots?, absent: Set<Int>, kept: KeptSlots?) = (nil, [], nil)
        func putLinked() throws {
            try writer.prepare(&linked)
            let start = first
            try writer.write(
                linked, relating: related, refused: { try refused(start + $0, $1) },
                done: { try done(start + $0, $1) })
            linked = RecordBatch()
        }
        for index in 0..<batch.records.count {
            do {
                let row = LinkedRow(batch.records.copy(at: index), number: nil, batch.links[index].related)
                let record = try writer.record(of: row, columns)
                let (own, absent) = (batch.records.keptSlots(at: index), absentSlots(batch.links[index].related))
                if own !== last.own || absent != last.absent { last = (own, absent, Self.kept(own, absent)) }
                linked.append(record.span.bytes, keeping: last.kept)
            } catch let error as StoreError where error.isOfValues {
                try putLinked()
                first = index + 1
                try refused(index, error)
            }
        }
        try putLinked()
    }

    /// The slots of the references that a row lacks.
    private func absentSlots(_ related: [RelatedObject]) -> Set<Int> {
        var absent: Set<Int> = []
        for (column, object) in zip(columns, related) where column.kind == .one {
            if case .absent = object { absent.formUnion(column.slots) }
        }
        return absent
    }

    /// The slots that a row leaves to a stored object, if any.
    private static func kept(_ own: KeptSlots?, _ absent: Set<Int>) -> KeptSlots? {
        absent.isEmpty ? own : KeptSlots(absent.union(own?.slots ?? []), requiredSlot: own?.requiredSlot)
    }

    /// Makes the waiting links. Returns the line and the reason of each link that still can't be made; these wait on.
    mutating func settle(
        with writer: BatchWriter, atEnd isAtEnd: Bool
    ) throws -> [(line: Int, reason: StoreError)] {
        let unresolved = later.isEmpty ? [] : try linkLater(with: writer, atEnd: isAtEnd)
        if missing.isEmpty { return unresolved }
        let all = missing.removeAll()
        let left = try writer.settle(all.map(\.link))
        for (index, _) in left { missing.append(all[index].link, of: all[index].number, line: all[index].line) }
        return unresolved + left.map { (all[$0.index].line, $0.reason) }
    }
}
