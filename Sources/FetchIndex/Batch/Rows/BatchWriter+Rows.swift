internal import FetchIndexModels
internal import FetchIndexRecords

// The functions of a batch writer for `ImportTransaction` and `RowLinker`.
extension BatchWriter {
    /// The writer's entity as a table with columns of related objects.
    func table(with columns: [RelatedColumn]) -> RowTable { RowTable(entityNumber, entity, key: constraint, columns) }

    /// Commits a batch of a large import, and releases the file's mapped pages.
    func commitBatch() throws {
        try withPublicErrors { _ = try commitTransaction() }
        store.releasePages()
    }

    /// Drops the changes since the last commit, and subtracts `gone` from the counts.
    func rollback(uncounting gone: Counts) {
        rollback()
        counts = counts - gone
    }

    // MARK: Counts

    func count(_ outcome: WriteOutcome) { counts.add(outcome) }

    /// Counts rows as unchanged, because later rows with the same keys replace them.
    func countUnchanged(_ count: Int) { counts.unchanged += count }

    /// Counts an object as updated instead of unchanged, because a link of its row was made later. Several such links
    /// of an object count once.
    func countLinkedLater(_ number: UInt64) {
        guard linkedLater.insert(number).inserted else { return }
        counts.unchanged -= 1
        counts.updated += 1
    }
}
