import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Controllers follow random edits of the objects of all entities of a hierarchy, and are compared with plain lists.
@Suite struct HierarchySeriesTests {
    /// The expected values of an object.
    private struct Plain {
        var entity: String
        var title: String
        var publisher: String
    }

    /// A controller of an entity, and the rows that result from the changes it has reported.
    private final class Followed: FetchedResultsControllerDelegate {
        let entity: String
        let names: Set<String>
        let controller: FetchedResultsController<ManagedObject>
        private var rows: [[ObjectID]]

        init(_ entity: String, includesSubentities: Bool, _ names: Set<String>, in context: ManagedObjectContext) throws
        {
            (self.entity, self.names) = (entity, names)
            var request = FetchRequest<ManagedObject>(entityName: entity)
            request.sortKeys = [SortKey("title"), SortKey("code", .descending)]
            request.includesSubentities = includesSubentities
            controller = try FetchedResultsController(
                fetchRequest: request, context: context, sectionKey: .attribute("publisher"),
                cacheName: "\(entity) \(includesSubentities)")
            rows = []
            try controller.performFetch()
            rows = controller.snapshot.objectIDs
            controller.delegate = self
        }

        func controller(
            _ controller: FetchedResultsController<ManagedObject>, didChange change: ResultsChange
        ) {
            if let new = change.replay(on: rows.map { $0.map { change.renumbered[$0] ?? $0 } }) {
                rows = new
            } else {
                Issue.record("\(entity): \(change) does not fit the rows")
            }
        }

        func check(_ expected: [Int: Plain], _ note: Comment) {
            #expect(rows == controller.snapshot.objectIDs, note)
            let members = expected.filter { names.contains($0.value.entity) }
            let sections = Dictionary(grouping: members) { $0.value.publisher }.mapValues { rows in
                rows.sorted { ($0.value.title, -$0.key) < ($1.value.title, -$1.key) }
            }
            let inOrder = sections.sorted { left, right in
                let (first, second) = (left.value[0], right.value[0])
                return (first.value.title, -first.key) < (second.value.title, -second.key)
            }
            #expect(controller.sections.map(\.name) == inOrder.map(\.key), note)
            let objects = controller.fetchedObjects.map { Array($0) } ?? []
            let codes = objects.map { $0["code"] }
            #expect(codes == inOrder.flatMap { $0.value.map { .integer(Int64($0.key)) } }, note)
            let entities = objects.map(\.entity.name)
            #expect(entities == inOrder.flatMap { $0.value.map(\.value.entity) }, note)
        }
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func controllersFollowAllEntitiesOfAHierarchy(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let store = Works()
        let container = try store.open()
        try store.fill(container, 40)
        let context = container.newContext()
        let other = container.newContext()
        var expected: [Int: Plain] = [:]
        for code in 0..<40 {
            expected[code] = Plain(
                entity: ["Tome", "Manga", "Periodical"][code % 3], title: "title \(code * 7 % 101)",
                publisher: "publisher \(code % 5)")
        }
        let followed = try [
            Followed("Work", includesSubentities: true, ["Tome", "Manga", "Periodical"], in: context),
            Followed("Tome", includesSubentities: true, ["Tome", "Manga"], in: context),
            Followed("Tome", includesSubentities: false, ["Tome"], in: context),
            Followed("Periodical", includesSubentities: true, ["Periodical"], in: context),
        ]
        var next = 40
        for step in 0..<60 {
            let isForeign = Int.random(in: 0..<3, using: &random) == 0
            let editor = isForeign ? other : context
            let all = FetchRequest<Work>(sortKeys: [SortKey(\.code)])
            if isForeign { try other.mergeChanges() }
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let objects = try editor.fetch(all)
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    let work: Work =
                        switch Int.random(in: 0..<3, using: &random) {
                        case 0: Tome(context: editor)
                        case 1: Manga(context: editor)
                        default: Periodical(context: editor)
                        }
                    work.code = next
                    work.title = "title \(Int.random(in: 0..<101, using: &random))"
                    work.publisher = "publisher \(Int.random(in: 0..<5, using: &random))"
                    expected[next] = Plain(
                        entity: work.entity.name, title: work.title, publisher: work.publisher ?? "")
                    next += 1
                case 1:
                    guard let work = objects.randomElement(using: &random) else { continue }
                    expected[work.code] = nil
                    editor.delete(work)
                default:
                    guard let work = objects.randomElement(using: &random) else { continue }
                    work.title = "title \(Int.random(in: 0..<101, using: &random))"
                    if Bool.random(using: &random) {
                        work.publisher = "publisher \(Int.random(in: 0..<5, using: &random))"
                    }
                    expected[work.code]?.title = work.title
                    expected[work.code]?.publisher = work.publisher ?? ""
                }
            }
            if isForeign || Bool.random(using: &random) {
                if context.hasChanges { try context.save() }
                try editor.save()
                try context.mergeChanges()
            } else {
                context.processPendingChanges()
            }
            for one in followed { one.check(expected, "seed \(seed), step \(step)") }
        }
        try context.save()
        for name in try container.cacheStatistics().map(\.name) {
            #expect(try container.verifyCache(name).isEmpty, "seed \(seed), \(name)")
        }
        #expect(try container.check { _, _ in }.isEmpty)
        let again = try Followed(
            "Work", includesSubentities: true, ["Tome", "Manga", "Periodical"], in: store.open(nil).newContext())
        again.check(expected, "reopened, seed \(seed)")
        withExtendedLifetime((context, other)) {}
    }
}
