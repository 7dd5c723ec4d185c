import FetchIndex
import FetchIndexTestSupport

/// The objects of the random scenarios. Their attributes get few different values, so that many rows have equal sort
/// keys or share a section.
final class Item: ManagedObject {
    @Attribute("group") var group: String?
    @Attribute("rank") var rank: Int
    @Attribute("isShown") var isShown: Bool
    @Attribute("note") var note: Int
}

/// A random request, and its expected results, computed from all rows: filtered, sorted, grouped, and cut by offset and
/// limit.
struct Scenario: CustomStringConvertible {
    var isFiltered: Bool
    var sort: SortDirection
    var sectionKey: SectionKey?
    var sectionOrder: SectionOrder
    var offset: Int
    var limit: Int
    var isNamed: Bool

    init(using generator: inout SeededGenerator) {
        isFiltered = Bool.random(using: &generator)
        sort = Bool.random(using: &generator) ? .ascending : .descending
        sectionKey = [nil, .attribute("group"), .attribute("group"), .bucket("rank", width: 3)].randomElement(
            using: &generator)!
        sectionOrder = [.byFirstRow, .byName(), .byName(descending: true), .byCount(), .byCount(descending: false)]
            .randomElement(using: &generator)!
        let isCut = Int.random(in: 0..<3, using: &generator) == 0
        offset = isCut ? Int.random(in: 0...3, using: &generator) : 0
        limit = isCut ? Int.random(in: 0...6, using: &generator) : 0
        isNamed = Bool.random(using: &generator)
    }

    var description: String {
        "filtered \(isFiltered), \(sort), sections \(sectionKey.map { "\($0)" } ?? "none") \(sectionOrder), "
            + "\(offset)+\(limit), named \(isNamed)"
    }

    func request() throws -> FetchRequest<Item> {
        var request = FetchRequest<Item>()
        if isFiltered { request.predicate = try FetchPredicate("isShown == TRUE") }
        request.sortKeys = [SortKey(\.rank, sort)]
        request.fetchOffset = offset
        request.fetchLimit = limit
        return request
    }

    struct Row: Equatable {
        let id: ObjectID
        let group: String?
        let rank: Int
        let isShown: Bool
        let note: Int
    }

    /// The names of the expected sections, and the ids of their rows.
    func results(of rows: [Row]) -> [(name: String, ids: [ObjectID])] {
        let members = rows.filter { row in !isFiltered || row.isShown }
        func isBefore(_ left: Row, _ right: Row) -> Bool {
            left.rank == right.rank ? left.id < right.id : (left.rank < right.rank) == (sort == .ascending)
        }
        let sections = plainSections(
            of: members, by: isBefore, in: sectionKey == nil ? nil : { sectionValue($0) },
            PlainSectionOrder(sectionOrder))
        var skipped = offset
        var left = limit == 0 ? Int.max : limit
        var results: [(String, [ObjectID])] = []
        for section in sections {
            let kept = section.rows.dropFirst(skipped).prefix(left)
            skipped -= min(skipped, section.rows.count)
            left -= kept.count
            if !kept.isEmpty || sectionKey == nil { results.append((section.name, kept.map(\.id))) }
        }
        return results
    }

    private func sectionValue(_ row: Row) -> PlainSectionValue {
        if case .bucket = sectionKey { .number(row.rank / 3 * 3) } else { PlainSectionValue(row.group) }
    }
}

/// Replays a change in the way of a list without moves: removes rows and whole sections at their old indexes, then
/// inserts sections and rows at their new indexes. Returns nil if the change has a move.
func replayedByAList(_ change: ResultsChange, on old: [[ObjectID]]) -> [[ObjectID]]? {
    var left: [[ObjectID?]?] = old
    for case .delete(_, let from) in change.rows { left[from.section]?[from.row] = nil }
    for case .delete(let from, _) in change.sections { left[from] = .none }
    var new = left.compactMap { $0.map { $0.compactMap { $0 } } }
    for event in change.sections {
        switch event {
        case .delete, .update: break
        case .insert(let to, _): new.insert([], at: to)
        case .move: return nil
        }
    }
    for event in change.rows {
        switch event {
        case .delete, .update: break
        case .insert(let id, let to): new[to.section].insert(id, at: to.row)
        case .move: return nil
        }
    }
    return new
}
