internal import FetchIndexModels
internal import FetchIndexRecords

//     open -> committed                 what the rows say is in the store
//     open -> rolled back -> open       several rows have one key: the last of each is put again, and compared with what is stored
//     open -> rolled back -> waiting    few objects changed, and later rows may change them back: the next transaction puts them again

/// The rows that an import puts into the store, and how its transactions end.
///
/// So a file that is imported again makes no commit, wherever it has several rows with one key. Rows that change something are kept until
/// then; a file without such rows costs no more than a copy of these.
package struct ImportTransaction {
    package typealias Refusal = (_ line: Int, StoreError) throws -> Void

    private let writer: BatchWriter
    private var linker: RowLinker
    private let columns: [RelatedColumn]
    /// The only transaction of `--replace` does not wait.
    private let mayWait: Bool
    private var changed = ChangedRows()
    private var waiting: RowBatch?
    /// How many related objects were inserted before.
    private var created: [Int]

    /// Rows of few objects, and few links, that wait for later ones.
    private static let mostWaiting = 1000

    /// `columns` have the related objects. `resolvesInFile`: numbers name rows of the file before they name stored objects, which
    /// `owner` knows. `mayWait`: few changes may wait for the next transaction.
    package init(
        _ writer: BatchWriter, _ columns: [RelatedColumn], _ owner: NumberOwner, resolvesInFile: Bool, mayWait: Bool
    ) {
        (self.writer, self.columns, self.mayWait) = (writer, columns, mayWait)
        linker = RowLinker(columns, owner, resolvesInFile: resolvesInFile, of: writer.entityNumber)
        created = columns.map(\.insertedCount)
    }

    /// Puts a batch into the store. `done` gets the number of each row's object, or `refused` the line of a row and the error that its
    /// values cause.
    package mutating func put(_ batch: RowBatch, refused: Refusal, done: (UInt64) -> Void) throws {
        try putWaiting(refused, done)
        try write(batch, refused, done)
    }

    private mutating func putWaiting(_ refused: Refusal, _ done: (UInt64) -> Void) throws {
        guard let rows = waiting else { return }
        waiting = nil
        try write(rows, refused, done)
    }

    private mutating func write(_ batch: RowBatch, _ refused: Refusal, _ done: (UInt64) -> Void) throws {
        let lines = batch.lines
        func refuse(_ index: Int, _ error: StoreError) throws { try refused(lines[index], error) }
        let changed = changed
        func note(_ index: Int, _ outcome: WriteOutcome) {
            done(outcome.object.number)
            if !outcome.isUnchanged || changed.has(outcome.object.number) { changed.append(index, of: batch, outcome) }
        }
        if batch.hasLinks {
            try writer.stopDeferring()
            if let source = batch.source { writer.numbersOrigin = source }
            try linker.put(batch, with: writer, refused: refuse, done: note)
        } else {
            try writer.write(batch.records, refused: refuse, done: note)
        }
    }

    /// Makes the links that could not be made when their rows came, and ends the transaction.
    package mutating func end(refused: Refusal, done: (UInt64) -> Void) throws {
        try decide(refused, done)
        if mayWait, canRollBack, changed.counts.inserted == 0, changed.count > 0, changed.count <= Self.mostWaiting,
            columns.map(\.insertedCount) == created
        {
            waiting = changed.rows
            return rollBack()
        }
        if linker.laterCount > Self.mostWaiting { _ = try linker.settle(with: writer, atEnd: false) }
        try writer.commitBatch()
        changed = ChangedRows()
        created = columns.map(\.insertedCount)
    }

    /// The same at the end of the file, without the commit. Returns the lines of links that cannot be made, and why.
    package mutating func finish(
        refused: Refusal, done: (UInt64) -> Void
    ) throws -> [(line: Int, reason: StoreError)] {
        try putWaiting(refused, done)
        try decide(refused, done)
        return try linker.settle(with: writer, atEnd: true)
    }

    private var canRollBack: Bool { changed.isComplete && !writer.isDeferring }

    private mutating func rollBack() {
        writer.rollback(uncounting: changed.counts)
        linker.forgetLater(of: changed.rows, changed.numbers)
        for (column, count) in zip(columns, created) { column.forget(insertedCount: count) }
        changed = ChangedRows()
    }

    /// Of rows with one key the last one decides.
    private mutating func decide(_ refused: Refusal, _ done: (UInt64) -> Void) throws {
        guard changed.hasDoubles, canRollBack, let last = changed.lastRows() else { return }
        let all = changed.rows
        rollBack()
        do {
            try write(last, { throw $1 }, done)
            writer.countUnchanged(all.records.count - last.records.count)
        } catch let error as StoreError where error.isOfValues {
            // Rows depend on each other: one takes what another gave up.
            rollBack()
            try write(all, refused, done)
        }
    }
}
