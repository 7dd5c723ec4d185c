internal import FetchIndexModels
internal import FetchIndexRecords

//     open -> committed                 the changes of the rows are saved
//     open -> rolled back -> open       an object has several rows: only the last row of each object is written again,
//                                       if possible, and compared with the stored object
//     open -> rolled back -> waiting    few objects changed, and later rows may undo the changes: the next transaction
//                                       writes the changing rows again

/// Writes the rows of an import, and decides how each of its transactions ends.
///
/// A second import of the same file should make no commit, even if several rows of the file have the same key. For
/// this, rows that change an object are copied until the transaction ends, up to 65,536 rows or 64 MiB. Some of these
/// rows are then written twice, as drawn above.
package struct ImportTransaction {
    package typealias Refusal = (_ line: Int, StoreError) throws -> Void

    private let writer: BatchWriter
    private var linker: RowLinker
    private let columns: [RelatedColumn]
    /// Whether changes may wait for the next transaction; false for an import with `--replace`, which has only one
    /// transaction.
    private let mayWait: Bool
    private var changed = ChangedRows()
    private var waiting: RowBatch?
    /// The number of related objects that each column had inserted when the transaction began.
    private var created: [Int]

    /// The maximum number of waiting rows. If more links than this wait, those that can be made are made before a
    /// commit.
    private static let mostWaiting = 1000

    /// `columns` are the columns of related objects. If `resolvesInFile`, an object number names the row of the file
    /// that has it; if no row has it, the number names a stored object, if `owner` allows that. If `mayWait`, a few
    /// changes may wait for the next transaction.
    package init(
        _ writer: BatchWriter, _ columns: [RelatedColumn], _ owner: NumberOwner, resolvesInFile: Bool, mayWait: Bool
    ) {
        (self.writer, self.columns, self.mayWait) = (writer, columns, mayWait)
        linker = RowLinker(writer.table(with: columns), owner, resolvesInFile: resolvesInFile)
        created = columns.map(\.insertedCount)
    }

    /// Writes a batch, after the rows that wait. `done` gets the number of each written row's object, unless unique
    /// keys are being deferred. `refused` gets the line of a row whose values cause an error, and the error.
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

    /// Ends the transaction: commits it, or rolls it back and lets its few changes wait for the next transaction.
    /// Before a commit, if more than 1,000 links wait, makes those whose rows have arrived.
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
        linker.noteCommitted()
        changed = ChangedRows()
        created = columns.map(\.insertedCount)
    }

    /// Writes the waiting rows and makes the waiting links after the last row; the caller commits. Returns the line
    /// and the reason of each link that can't be made.
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
        linker.noteRolledBack()
        linker.forgetLater(of: changed.rows, changed.numbers)
        for (column, count) in zip(columns, created) { column.forget(insertedCount: count) }
        changed = ChangedRows()
    }

    /// If an object has several rows, writes only the last row of each object, in a new transaction, if possible.
    private mutating func decide(_ refused: Refusal, _ done: (UInt64) -> Void) throws {
        guard changed.hasDoubles, canRollBack, let last = changed.lastRows() else { return }
        let all = changed.rows
        rollBack()
        do {
            try write(last, { throw $1 }, done)
            writer.countUnchanged(all.records.count - last.records.count)
        } catch let error as StoreError where error.isOfValues {
            // Perhaps only all rows together can be written: for example, one row takes a unique value that an earlier
            // row, which was left out, released.
            rollBack()
            try write(all, refused, done)
        }
    }
}
