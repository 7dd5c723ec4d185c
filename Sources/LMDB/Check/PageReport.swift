/// What a walk over the pages of a data file found.
package struct PageReport: Sendable {
    /// Further ones are only counted: one damaged page often causes many defects.
    private static let limit = 1000

    private var sentences: [String] = []
    private var count = 0
    /// What the walk counted, by table.
    package internal(set) var tables: [String: TreeStatistics] = [:]
    /// Pages that the free list names.
    package internal(set) var freePages = 0

    mutating func add(_ defect: @autoclosure () -> String) {
        count += 1
        if sentences.count < Self.limit { sentences.append(defect()) }
    }

    package var isWhole: Bool { count == 0 }

    /// Everything that is wrong, one sentence each; of very many the first, and how many there are.
    package var defects: [String] {
        count > sentences.count ? sentences + ["and \(count - sentences.count) more defects of pages"] : sentences
    }
}
