import FetchIndex
import FetchIndexTestSupport
import Testing

/// The numbers of a change by section are those that two states of the order differ by.
@Suite struct ChangeSummaryTests {
    private static let definition = OrderDefinition(
        entity: "Item", sortKeys: [SortKey("size")], sectionKey: .attribute("group"))

    /// The sections with the numbers of their objects, in order.
    private func sections(_ order: FetchedOrder) throws -> [(name: String, rows: [UInt64])] {
        var sections: [(name: String, rows: [UInt64])] = []
        try order.forEachSection {
            sections.append(($0.name, []))
            return true
        }
        try order.forEachRow { sections[$0.path.section].rows.append($0.id.number) }
        return sections
    }

    @Test(arguments: 0..<8 as Range<UInt64>, [true, false])
    func theNumbersAreThoseOfTheTwoStates(seed: UInt64, hasSectionOrder: Bool) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let store = try LiveStore(ItemSeries.model)
        var series = ItemSeries(store.container)
        var definition = Self.definition
        if hasSectionOrder { definition.sectionOrder = .byCount(descending: true) }
        var states: [(commit: UInt64, sections: [(name: String, rows: [UInt64])])] = []
        for step in 0..<25 {
            let commit = try series.commit(&random)
            try store.container.withOrder(definition, .init()) { order in
                states.append((commit, try sections(order)))
                let old = states[Int.random(in: states.indices, using: &random)]
                let change = try order.changes(since: .commit(old.commit))
                try compare(
                    order.summary(of: change), old.sections, states[step].sections, change,
                    "seed \(seed), step \(step), since \(old.commit)")
            }
        }
    }

    private func compare(
        _ summary: ChangeSummary, _ old: [(name: String, rows: [UInt64])], _ new: [(name: String, rows: [UInt64])],
        _ change: ResultsChange, _ place: Comment
    ) throws {
        #expect(summary.rowsBefore == old.reduce(0) { $0 + $1.rows.count }, place)
        #expect(summary.rowsAfter == new.reduce(0) { $0 + $1.rows.count }, place)
        #expect(
            summary.counts.moved + summary.counts.updated + summary.counts.inserted + summary.counts.deleted
                == change.rows.count, place)
        let oldSets = Dictionary(uniqueKeysWithValues: old.map { ($0.name, Set($0.rows)) })
        let newSets = Dictionary(uniqueKeysWithValues: new.map { ($0.name, Set($0.rows)) })
        let allOld = Set(old.flatMap(\.rows))
        let allNew = Set(new.flatMap(\.rows))
        let listed = Dictionary(uniqueKeysWithValues: summary.sections.map { ($0.name, $0) })
        for name in Set(oldSets.keys).union(newSets.keys) {
            let (before, after) = (oldSets[name] ?? [], newSets[name] ?? [])
            guard let section = listed[name] else {
                #expect(before == after, place)
                continue
            }
            #expect(section.from == old.firstIndex { $0.name == name }, place)
            #expect(section.to == new.firstIndex { $0.name == name }, place)
            #expect(section.rowsBefore == before.count && section.rowsAfter == after.count, place)
            #expect(section.counts.inserted == after.subtracting(allOld).count, place)
            #expect(section.counts.deleted == before.subtracting(allNew).count, place)
            #expect(section.counts.arrived == after.intersection(allOld).subtracting(before).count, place)
            #expect(section.counts.left == before.intersection(allNew).subtracting(after).count, place)
        }
        let shown = summary.sections.compactMap(\.to)
        #expect(shown == shown.sorted(), place)
    }

    @Test func anOrderWithoutSectionsHasTotals() throws {
        let store = try LiveStore(ItemSeries.model)
        var random = SeededGenerator(seed: TestSettings.seed)
        var series = ItemSeries(store.container)
        let commit = try series.commit(&random)
        _ = try series.commit(&random)
        let definition = OrderDefinition(entity: "Item", sortKeys: [SortKey("size")])
        try store.container.withOrder(definition, .init()) { order in
            let summary = try order.summary(of: order.changes(since: .commit(commit)))
            #expect(summary.rowsAfter == order.rowCount)
            #expect(summary.sections.count == 1 && summary.sections[0].rowsAfter == order.rowCount)
        }
    }
}
