/// The findings of a walk over the pages of a data file.
package struct PageReport: Sendable {
    /// The maximum number of defects that are kept. Further defects are only counted, since one damaged page often
    /// causes many.
    private static let limit = 1000

    private var sentences: [String] = []
    private var count = 0
    /// The sentences of wrong checksums, which are listed after the others.
    private var checksumSentences: [String] = []
    /// The statistics that the walk computed, by table.
    package internal(set) var tables: [String: TreeStatistics] = [:]
    /// The number of free pages that the walk found.
    package internal(set) var freePages = 0

    /// The number of pages whose checksum is wrong.
    private(set) var wrongChecksums = 0
    package var firstWrongChecksum: String? { checksumSentences.first }
    /// The names of the tables that have such pages.
    package internal(set) var tablesWithWrongChecksums: Set<String> = []

    mutating func add(_ defect: @autoclosure () -> String) {
        count += 1
        if sentences.count < Self.limit { sentences.append(defect()) }
    }

    /// Adds a page of a tree or table whose checksum is wrong.
    mutating func addWrongChecksum(_ page: PageNumber, in subject: String) {
        wrongChecksums += 1
        if checksumSentences.count < Self.limit {
            checksumSentences.append("page \(page): in \(subject), it has a wrong checksum")
        }
    }

    package var isWhole: Bool { count == 0 && wrongChecksums == 0 }
    /// The number of pages that are neither used nor free; 0 if pages that can't be read were found before they were
    /// counted.
    package internal(set) var lostPages = 0
    /// Whether LMDB can read all pages that are used: some pages may be neither used nor free, and the checksums of
    /// pages may be wrong, so that values may be damaged.
    package var isReadable: Bool { count == (lostPages > 0 ? 1 : 0) }
    /// Whether the defects are only wrong checksums.
    package var hasOnlyWrongChecksums: Bool { count == 0 && wrongChecksums > 0 }

    /// The defects found, one sentence each. If there are too many, the last sentence says how many more were found.
    package var defects: [String] {
        let told = sentences + checksumSentences
        let more = count + wrongChecksums - told.count
        return more > 0 ? told + ["and \(more) more defects of pages"] : told
    }
}
