internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexPlatform
internal import Synchronization

/// Imports the rows of a file whose entity is prepared. If the request allows several threads:
///
///     a thread that decompresses a file        bytes, if the file is compressed
///     a thread that reads and converts rows    batches of records with links: `RowReading`
///     this thread                              transactions of the store: `ImportTransaction`
final class RowImport {
    /// A transaction ends at the end of a batch, once it has this many rows.
    private static let transactionLength = 50_000

    let request: ImportRequest
    private let source: any RowSource
    let writer: BatchWriter
    private let related: RelatedColumns
    private let converter: RowConverter
    /// The number of the entity's objects before the import.
    let objectCount: Int
    // Copied from the request, because `replaces` is read for each row.
    let replaces: Bool
    private let skipsBadRows: Bool
    /// Whether all rows are written in one transaction, which an error undoes.
    private let isOneTransaction: Bool
    private let review: ((BatchPreview) throws -> Void)?

    private var transaction: ImportTransaction
    /// The number of rows put into the store since the last transaction was ended.
    private var openCount = 0
    private var readCount = 0
    private(set) var bad = BadRows()
    /// The objects of the rows; empty unless the import replaces.
    private(set) var seen = SeenObjects()

    /// `model` is the store's model, or has more than that.
    init(
        _ request: ImportRequest, _ source: any RowSource, _ container: PersistentContainer, _ model: Model,
        _ review: ((BatchPreview) throws -> Void)? = nil
    ) throws {
        (self.request, self.source, self.review) = (request, source, review)
        isOneTransaction = request.replaces || request.isDryRun || review != nil
        (replaces, skipsBadRows) = (request.replaces, request.skipsBadRows)
        let stored = try container.model()
        let isStored = stored.entity(named: request.entity) != nil
        objectCount = try isStored ? container.count(ofEntity: request.entity) : 0
        writer = try BatchWriter(
            container, adding: model == stored ? nil : model, entity: request.entity, key: request.key,
            author: "import")
        if !isOneTransaction { try writer.commit() }
        related = try RelatedColumns(
            source.columns, to: writer.entity, in: writer.model, request,
            NumberOwner(for: writer, isKeyed: request.key != nil))
        converter = try RowConverter(
            source.columns, to: writer.entity, request, related,
            mayUpdate: !request.clearsMissing && (request.key != nil || related.idPlace != nil))
        // The writer stops deferring unique keys when a row with links arrives.
        if !isOneTransaction { writer.deferUniqueKeys() }
        transaction = ImportTransaction(
            writer, related.columns, related.owner, resolvesInFile: related.resolvesInFile, mayWait: !isOneTransaction)
    }

    func run(progress: (_ rows: Int, _ fraction: Double) -> Void) throws -> CatalogueImport.Outcome {
        do {
            try putRows(progress)
            try finishLinks()
            if !isOneTransaction { try writer.commit() }
        } catch {
            throw isOneTransaction ? undone(by: error) : stopped(by: error)
        }
        var outcome = CatalogueImport.Outcome()
        if replaces { outcome.deletedCount = try deleteOthers() }
        if isOneTransaction { try endTransaction() }
        outcome.counts = writer.counts
        outcome.bad = bad
        if request.insertsRelated {
            outcome.insertedRelatedCount = related.columns.reduce(0) { $0 + $1.insertedCount }
        }
        return outcome
    }

    /// Commits the only transaction, unless the review refuses it; a dry run drops it after the review.
    private func endTransaction() throws {
        if request.isDryRun {
            _ = try writer.preview { try review?($0) }
        } else {
            writer.beforeCommit = review
            try writer.commit()
        }
    }

    // MARK: Rows

    private func putRows(_ progress: (_ rows: Int, _ fraction: Double) -> Void) throws {
        // How the reading thread is to prepare the next batch.
        let preparation = Mutex(writer.preparation)
        try Threads.pipe(request.threads, capacity: 2) { deliver in
            var reading = RowReading(source, converter, skipsBadRows: skipsBadRows)
            try reading.run { read in
                var batch = read
                try writer.prepare(&batch.rows, as: preparation.withLock { $0 })
                try deliver(batch)
            }
        } consume: { (batch: ReadRows) in
            try put(batch)
            // The length of a pipe is unknown, so the fraction is 0.
            let total = batch.progress.total == 0 ? .infinity : Double(batch.progress.total)
            progress(readCount, Double(batch.progress.done) / total)
            preparation.withLock { $0 = writer.preparation }
        }
    }

    private func put(_ batch: ReadRows) throws {
        bad.add(batch.bad)
        let badBefore = bad.count
        try transaction.put(batch.rows, refused: refuse, done: note)
        openCount += batch.rows.count - (bad.count - badBefore)
        readCount += batch.rowCount
        if !isOneTransaction && openCount >= Self.transactionLength {
            try transaction.end(refused: refuse, done: note)
            openCount = 0
        }
    }

    private func note(_ number: UInt64) { if replaces { seen.insert(number) } }

    /// Skips a row that the store refuses, if bad rows are skipped.
    private func refuse(_ line: Int, _ error: StoreError) throws {
        let bad = badInput(line, error)
        guard skipsBadRows else { throw bad }
        self.bad.note(bad)
    }

    private func badInput(_ line: Int, _ error: StoreError) -> BadInput {
        request.badInput(line: line, reason: error.description)
    }

    // MARK: The end

    /// Makes the links to later rows. A link to a row that didn't arrive is an error, but the rows are valid, and are
    /// saved unless the import is one transaction.
    private func finishLinks() throws {
        for (line, error) in try transaction.finish(refused: refuse, done: note) {
            let bad = badInput(line, error)
            if skipsBadRows {
                self.bad.note(bad)
                continue
            }
            if isOneTransaction { throw bad }
            try writer.commit()
            throw ImportStopped(cause: bad, saved: .withoutLinks, isEntityEmpty: false)
        }
    }

    /// Drops the only transaction. Returns the error to throw.
    private func undone(by error: any Error) -> any Error {
        writer.rollback()
        return ImportStopped(cause: error, saved: .nothing, isEntityEmpty: objectCount == 0)
    }

    /// Saves the rows before a bad row, or before the place where the file becomes unreadable: these rows are valid.
    /// Returns the error to throw.
    private func stopped(by error: any Error) -> any Error {
        var error = error
        var unlinked = 0
        if error is BadInput || error is UnreadableFile {
            do {
                unlinked = try transaction.finish(refused: refuse, done: note).count
                try writer.commit()
            } catch let failure { error = failure }
        }
        switch error {
        case is BadInput, is UnreadableFile, StoreError.notSaved:
            let counts = writer.savedCounts
            let saved = counts.inserted + counts.updated + counts.unchanged
            return ImportStopped(
                cause: error, saved: .rows(saved, unlinked: unlinked), isEntityEmpty: objectCount + saved == 0)
        default: return error
        }
    }
}
