/// The findings of a walk over the pages of a data file.
package struct PageReport: Sendable {
    /// The maximum number of defects that are kept. Further defects are only counted, since one damaged page often
    /// causes many.
    private static let limit = 1000

    private var sentences: [String] = []
    private var count = 0
    /// The statistics that the walk computed, by table.
    package internal(set) var tables: [String: TreeStatistics] = [:]
    /// The number of free pages that the walk found.
    package internal(set) var freePages = 0

    /// The number of pages whose checksum is wrong.
    package private(set) var wrongChecksums = 0

    mutating func add(_ defect: @autoclosure () -> String) {
        count += 1
        if sentences.count < Self.limit { sentences.append(defect()) }
    }

    /// Adds the defect of a page whose checksum is wrong.
    mutating func addWrongChecksum(_ defect: @autoclosure () -> String) {
        add(defect())
        wrongChecksums += 1
    }

    package var isWhole: Bool { count == 0 }
    /// The number of pages that are neither used nor free; 0 if other defects were found before they were counted.
    package internal(set) var lostPages = 0
    /// Whether LMDB can read all pages that are used: some pages may be neither used nor free, and the checksums of
    /// pages may be wrong, so that values may be damaged.
    package var isReadable: Bool { count - wrongChecksums == (lostPages > 0 ? 1 : 0) }
    /// Whether the defects are only wrong checksums.
    package var hasOnlyWrongChecksums: Bool { count > 0 && count == wrongChecksums }

    /// The defects found, one sentence each. If there are too many, the last sentence says how many more were found.
    package var defects: [String] {
        count > sentences.count ? sentences + ["and \(count - sentences.count) more defects of pages"] : sentences
    }
}
