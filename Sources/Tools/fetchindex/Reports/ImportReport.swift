internal import FetchIndex
internal import FetchIndexCatalogues

/// The result of an import, as JSON.
struct ImportReport: Encodable {
    let inserted: Int
    let updated: Int
    let unchanged: Int
    /// The number of deleted objects; nil if `--replace` isn't given.
    let deleted: Int?
    /// The number of inserted related objects; nil if `--create-related` isn't given, or if the file is empty.
    let created: Int?
    let badRows: [String]
    let badRowCount: Int
    let commit: UInt64
    let milliseconds: Double

    init(_ outcome: CatalogueImport.Outcome, milliseconds: Double) {
        (inserted, updated) = (outcome.counts.inserted, outcome.counts.updated)
        unchanged = outcome.counts.unchanged
        (deleted, created) = (outcome.deletedCount, outcome.insertedRelatedCount)
        badRows = outcome.bad.listed.map(\.sentence)
        badRowCount = outcome.bad.count
        commit = outcome.commit
        self.milliseconds = milliseconds
    }
}
