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

    mutating func add(_ defect: @autoclosure () -> String) {
        count += 1
        if sentences.count < Self.limit { sentences.append(defect()) }
    }

    package var isWhole: Bool { count == 0 }
    /// The number of pages that are neither used nor free; 0 if other defects were found before they were counted.
    package internal(set) var lostPages = 0
    /// Whether all pages that are used can be read.
    package var isReadable: Bool { count == (lostPages > 0 ? 1 : 0) }

    /// The defects found, one sentence each. If there are too many, the last sentence says how many more were found.
    package var defects: [String] {
        count > sentences.count ? sentences + ["and \(count - sentences.count) more defects of pages"] : sentences
    }
}
