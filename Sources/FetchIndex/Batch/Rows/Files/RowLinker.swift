internal import FetchIndexModels
internal import FetchIndexRecords

/// Writes the rows of a file that have related objects, and keeps the links that wait for later rows.
struct RowLinker {
    private let table: RowTable
    /// Links that couldn't be made when their rows were written, because the linked object, whose number is known, was
    /// missing or, in a one-to-one relationship, already linked.
    private var missing = WaitingLinks<MissingLink>()
    /// The object numbers of written rows, by the giver and the number in the file. Empty unless `resolvesInFile`.
    /// Takes 16 bytes and more for each row with a number.
    private var objects: [NumberGiver: [UInt64: UInt64]] = [:]
    private let owner: NumberOwner
    private let resolvesInFile: Bool
    private let mutual: MutualRows?
    /// Links to rows that haven't arrived yet, so that the numbers of the linked objects are unknown.
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

    init(_ table: RowTable, _ owner: NumberOwner, resolvesInFile: Bool) {
        (self.table, self.owner) = (table, owner)
        self.resolvesInFile = resolvesInFile && !table.columns.isEmpty
        mutual = table.columns.contains(where: \.isMutual) ? MutualRows() : nil
    }

    private var columns: [RelatedColumn] { table.columns }

    /// Returns the writer of rows in the open transaction; begins a transaction if none is open.
    private func rows(with writer: BatchWriter) throws -> RowWriter {
        if !writer.hasOpenTransaction { for column in columns { column.forget() } }
        return RowWriter(table, try writer.transaction(), mutual)
    }

    /// Writes a batch. `done` gets the outcome of each written row; `refused` gets the error that a row's values cause.
    /// If a closure throws, the batch ends.
    mutating func put(
        _ batch: borrowing RowBatch, with writer: BatchWriter, refused: (Int, StoreError) throws -> Void,
        done: (Int, WriteOutcome) throws -> Void
    ) throws {
        let rows = try rows(with: writer)
        let used = batch.usedColumns
        if !batch.hasNumbers && !hasLater && used.allSatisfy({ columns[$0].isPlain }) {
            return try putPlain(batch, used.map { columns[$0] }, rows, with: writer, refused: refused, done: done)
        }
        for index in 0..<batch.records.count {
            let outcome: WriteOutcome
            do { outcome = try put(index, of: batch, rows, with: writer) } catch let error as StoreError
                where error.isOfValues
            {
                try refused(index, error)
                continue
            }
            try done(index, outcome)
        }
    }

    /// Writes a row, and keeps its links that can't be made yet.
    private mutating func put(
        _ index: Int, of batch: borrowing RowBatch, _ rows: RowWriter, with writer: BatchWriter
    ) throws -> WriteOutcome {
        let (links, line) = (batch.links[index], batch.lines[index])
        var related = links.related
        let delayed = resolvesInFile ? resolve(&related, links.giver) : []
        let row = LinkedRow(
            record: batch.records.copy(at: index), number: links.number, related: related,
            kept: batch.records.keptSlots(at: index))
        let (outcome, unmade) = try rows.write(row)
        writer.count(outcome)
        let number = outcome.object.number
        if case .inserted = outcome { mutual?.noteInserted(outcome.object, columns) }
        if outcome.isUnchanged { mutual?.noteUnchanged(outcome.object) }
        forget(number, links.related)
        if resolvesInFile, let name = links.fileNumber { objects[links.giver, default: [:]][name] = number }
        for column in delayed {
            let waiting = LaterLinks(
                column: column, related: links.related[column], giver: links.giver, isOfUnchanged: outcome.isUnchanged)
            later.append(waiting, of: number, line: line)
        }
        for link in unmade { missing.append(link, of: number, line: line) }
        return outcome
    }

    /// Forgets the waiting links of an object in the columns that a later row of the object has.
    private mutating func forget(_ number: UInt64, _ related: [RelatedObject]) {
        if !hasLater { return }
        var decided: Set<String> = []
        for (column, object) in zip(columns, related) {
            if case .absent = object { continue }
            decided.insert(column.relationship)
        }
        let columns = columns
        missing.removeAll(of: number) { decided.contains($1.column.relationship) }
        later.removeAll(of: number) { decided.contains(columns[$1.column].relationship) }
    }

    /// Notes that the transaction was committed.
    func noteCommitted() { mutual?.noteCommitted() }

    /// Notes that the transaction was rolled back, so that the objects that it inserted don't exist.
    func noteRolledBack() { mutual?.forgetInserted() }

    /// Forgets the waiting links of rows that are written again. `numbers` are the object numbers of the rows.
    mutating func forgetLater(of rows: RowBatch, _ numbers: [UInt64]) {
        if !hasLater || !rows.hasLinks { return }
        for (line, number) in zip(rows.lines, numbers) {
            missing.removeAll(of: number) { other, _ in other == line }
            later.removeAll(of: number) { other, _ in other == line }
        }
    }

    /// Replaces numbers of the file by the object numbers of the rows that have them. Returns the columns that name a
    /// row which hasn't arrived yet, and makes these columns absent.
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

    /// Replaces numbers of the file by object numbers. Returns nil if a row hasn't arrived. If `orStored`, a number
    /// that no row has may name a stored object.
    private func resolved(
        _ object: RelatedObject, _ giver: NumberGiver, orStored: Bool = false
    ) -> RelatedObject? {
        func own(_ link: RowLink) -> RowLink? {
            guard link.object.entity == table.entityNumber else { return link }
            guard let number = objects[giver]?[link.object.number] else {
                return orStored && owner.wasStored(link.object.number, of: table.entityNumber, by: giver) ? link : nil
            }
            let object = RecordKey(entity: table.entityNumber, number: number)
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

    /// Makes the links of lists to rows that have arrived, and adds single links to `missing`, for `settle`. At the end
    /// of the file, or if all objects that a row names are stored, a number that no row has may name a stored object.
    /// Returns the line and the reason of each link whose row hasn't arrived.
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
                            "names a row by a number that is not in the file")
                    ))
                continue
            }
            for link in try link(number, links, to: related, with: writer) {
                missing.append(link, of: number, line: line)
            }
        }
        return reasons
    }

    /// Links the object of a written row to the related objects of a column. Returns the links that aren't made yet.
    private func link(
        _ number: UInt64, _ links: LaterLinks, to related: RelatedObject, with writer: BatchWriter
    ) throws -> [MissingLink] {
        let (column, object) = (columns[links.column], RecordKey(entity: table.entityNumber, number: number))
        switch related {
        case .absent, .named, .none: return []
        case .object(let link):
            if column.isMutual { mutual?.note(object, column, naming: [link.object], omitting: []) }
            return [MissingLink(holder: object, link: link, column: column, isOfUnchanged: links.isOfUnchanged)]
        case .list(let list):
            let set = try rows(with: writer).setLinks(list, of: object, column)
            if set.isChanged && links.isOfUnchanged { writer.countLinkedLater(number) }
            let isUnchanged = links.isOfUnchanged && !set.isChanged
            return set.missing.map {
                MissingLink(holder: object, link: $0, column: column, isOfUnchanged: isUnchanged)
            }
        }
    }

    /// Writes rows whose columns are plain. The rows between two rows that can't be linked are written as one batch, so
    /// that their unique keys can be looked up and written in ascending order.
    private func putPlain(
        _ batch: borrowing RowBatch, _ used: [RelatedColumn], _ rows: RowWriter, with writer: BatchWriter,
        refused: (Int, StoreError) throws -> Void,
        done: (Int, WriteOutcome) throws -> Void
    ) throws {
        let related = used.reduce(into: Set<Int>()) { $0.formUnion($1.slots) }
        var linked = RecordBatch()
        var first = 0
        var last: (own: KeptSlots?, absent: Set<Int>, kept: KeptSlots?) = (nil, [], nil)
        func putLinked() throws {
            try writer.prepare(&linked, as: writer.preparation)
            let start = first
            try writer.write(
                linked, relating: related, refused: { try refused(start + $0, $1) },
                done: { try done(start + $0, $1) })
            linked = RecordBatch()
        }
        for index in 0..<batch.records.count {
            do {
                let record = try rows.linked(batch.records.copy(at: index), naming: batch.links[index].related).record
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

    /// The slots of the to-one references that a row leaves out.
    private func absentSlots(_ related: [RelatedObject]) -> Set<Int> {
        var absent: Set<Int> = []
        for (column, object) in zip(columns, related) where column.kind == .one {
            if case .absent = object { absent.formUnion(column.slots) }
        }
        return absent
    }

    /// The slots that a row leaves out; nil if it leaves out none.
    private static func kept(_ own: KeptSlots?, _ absent: Set<Int>) -> KeptSlots? {
        absent.isEmpty ? own : KeptSlots(absent.union(own?.slots ?? []), requiredSlot: own?.requiredSlot)
    }

    /// Makes the waiting links. Returns the line and the reason of each link that still can't be made and keeps
    /// waiting.
    mutating func settle(
        with writer: BatchWriter, atEnd isAtEnd: Bool
    ) throws -> [(line: Int, reason: StoreError)] {
        let unresolved = later.isEmpty ? [] : try linkLater(with: writer, atEnd: isAtEnd)
        if missing.isEmpty {
            if isAtEnd { try removeOmitted(with: writer) }
            return unresolved
        }
        let all = missing.removeAll()
        let left = try rows(with: writer).settle(all.map(\.link)) { link in
            if link.isOfUnchanged { writer.countLinkedLater(link.holder.number) }
        }
        for (index, _) in left { missing.append(all[index].link, of: all[index].number, line: all[index].line) }
        if isAtEnd { try removeOmitted(with: writer) }
        return unresolved + left.map { (all[$0.index].line, $0.reason) }
    }

    /// Removes the links of relationships that are their own inverses which no row names.
    private func removeOmitted(with writer: BatchWriter) throws {
        guard let mutual else { return }
        let unchanged = mutual.unchanged
        for omission in mutual.takeOmissions() {
            let isChanged = try rows(with: writer).removeLink(omission)
            if isChanged, unchanged.contains(omission.near) { writer.countLinkedLater(omission.near.number) }
        }
    }
}
