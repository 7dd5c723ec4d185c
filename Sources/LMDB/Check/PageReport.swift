/// The findings of a walk over the pages of a data file.
package struct PageReport: Sendable {
    /// The maximum number of defects kept. Further ones are only counted: one damaged page often causes many.
    private static let limit = 1000

    private var sentences: [String] = []
    private var count = 0
    /// The statistics that the walk counted, by table.
    package internal(set) var tables: [String: TreeStatistics] = [:]
    /// The number of pages that the free list names.
    package internal(set) var freePages = 0

    mutating func add(_ defect: @autoclosure () -> String) {
        count += 1
        if sentences.count < Self.limit { sentences.append(defect()) }
    }

    package var isWhole: Bool { count == 0 }

    /// All defects, one sentence each; if there are very many, the first ones and the number of the others.
    package var defects: [String] {
        count > sentences.count ? sentences + ["and \(count - sentences.count) more defects of pages"] : sentences
    }
}
