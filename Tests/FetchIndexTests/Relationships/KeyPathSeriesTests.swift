import Administration
import FetchIndex
import TestSupport
import Testing

/// Orders that reach through relationships, followed through random edits of all objects: against what plain Swift makes of the
/// objects, change by change, in the context that edits and in one that merges.
@Suite struct KeyPathSeriesTests {
    /// A request, and what it means.
    private struct Kind<Object: ManagedObject> {
        var predicate: String?
        let sort: String
        var section: SectionKey?
        let isMember: (Object) -> Bool
        /// In the order of the sort keys, as texts; nil is null.
        let keys: (Object) -> [String?]
        var sectionName: (Object) -> String = { _ in "" }
    }

    /// A controller of a request, and the rows that its changes lead to.
    private final class Followed<Object: ManagedObject>: FetchedResultsControllerDelegate {
        private let kind: Kind<Object>
        private let controller: FetchedResultsController<Object>
        private let context: ManagedObjectContext
        private let name: String
        private var rows: [[ObjectID]] = []

        init(_ kind: Kind<Object>, _ name: String, cacheName: String?, in context: ManagedObjectContext) throws {
            (self.kind, self.context, self.name) = (kind, context, name)
            var request = FetchRequest<Object>(sortKeys: try SortKey.list(parsing: kind.sort))
            request.predicate = try kind.predicate.map { try FetchPredicate(format: $0, argumentArray: []) }
            controller = try FetchedResultsController(
                fetchRequest: request, context: context, sectionKey: kind.section, cacheName: cacheName)
            try controller.performFetch()
            rows = controller.snapshot.objectIDs
            controller.delegate = self
        }

        func controller(_ controller: FetchedResultsController<Object>, didChange change: ResultsChange) {
            if let new = change.replay(on: rows.map { $0.map { change.renumbered[$0] ?? $0 } }) {
                rows = new
            } else {
                Issue.record("\(name): \(change) does not fit")
            }
        }

        func check(_ note: Comment) throws {
            #expect(rows == controller.snapshot.objectIDs, note)
            func less(_ left: Object, _ right: Object) -> Bool {
                for (one, other) in zip(kind.keys(left), kind.keys(right)) where one != other {
                    guard let one, let other else { return one == nil }
                    return one < other
                }
                return left.objectID < right.objectID
            }
            let members = try context.fetch(FetchRequest<Object>()).filter(kind.isMember)
            let sections = Dictionary(grouping: members, by: kind.sectionName).mapValues { $0.sorted(by: less) }
            let expected = sections.values.sorted { less($0[0], $1[0]) }
            // Without a section key there is one section.
            let none: [[ObjectID]] = kind.section == nil ? [[]] : []
            #expect(rows == (expected.isEmpty ? none : expected.map { $0.map(\.objectID) }), "\(name): \(note)")
            for object in members.prefix(3) {
                let path = controller.indexPath(forObject: object)
                #expect(path.map { controller.object(at: $0) } === object, "\(name): \(note)")
            }
        }
    }

    private static func padded(_ number: Int?) -> String? { number.map { String(10_000 + $0) } }

    private static var novelsByWriter: Kind<Novel> {
        Kind(
            sort: "writer.name,title", section: .attribute("writer.name"), isMember: { _ in true },
            keys: { [$0.writer?.name, $0.title] }, sectionName: { $0.writer?.name ?? "" })
    }
    private static var labelled: Kind<Novel> {
        Kind(
            predicate: "ANY labels.name == 'label 3' OR ANY labels.name == 'label 1'", sort: "title",
            isMember: { $0.labels.contains { ["label 1", "label 3"].contains($0.name) } }, keys: { [$0.title] })
    }
    private static var busy: Kind<Writer> {
        Kind(
            predicate: "novels.@count > 0", sort: "name", isMember: { $0.novels.count > 0 }, keys: { [$0.name] })
    }
    private static var folders: Kind<Folder> {
        Kind(
            sort: "parent.parent.name,name", section: .attribute("parent.name"), isMember: { _ in true },
            keys: { [$0.parent?.parent?.name, $0.name] }, sectionName: { $0.parent.map { "=" + $0.name } ?? "" })
    }
    private static var listed: Kind<Writer> {
        Kind(
            predicate: "SUBQUERY(novels, $n, $n.price > 10 AND ANY $n.labels.name == 'label 2').@count > 0",
            sort: "name",
            isMember: { $0.novels.contains { $0.price > 10 && $0.labels.contains { $0.name == "label 2" } } },
            keys: { [$0.name] })
    }
    private static var travelling: Kind<Novel> {
        Kind(
            predicate: "writer.passport.number > 10 OR writer == NIL", sort: "writer.passport.number,title",
            isMember: { ($0.writer?.passport?.number ?? 0) > 10 || $0.writer == nil },
            keys: { [padded($0.writer?.passport?.number), $0.title] })
    }
    private static var summed: Kind<Writer> {
        Kind(
            predicate: "novels.@sum.price > 20 AND ALL novels.price < 38", sort: "name",
            isMember: { $0.novels.reduce(0) { $0 + $1.price } > 20 && $0.novels.allSatisfy { $0.price < 38 } },
            keys: { [$0.name] })
    }

    private static func follow(_ context: ManagedObjectContext, cached: Bool) throws -> [(Comment) throws -> Void] {
        func name(_ text: String) -> String? { cached ? text : nil }
        func check<Object>(_ kind: Kind<Object>, _ title: String) throws -> (Comment) throws -> Void {
            let followed = try Followed(kind, title, cacheName: name(title), in: context)
            return { try followed.check($0) }
        }
        return try [
            check(novelsByWriter, "by writer"), check(labelled, "labelled"), check(busy, "busy"),
            check(folders, "folders"), check(listed, "listed"), check(travelling, "travelling"),
            check(summed, "summed"),
        ]
    }

    @Test(arguments: 0..<24) func ordersFollowRelatedObjects(seed: UInt64) throws {
        var series = try LibrarySeries(seed: seed &+ 1000)
        series.changesValues = true
        for _ in 0..<40 { try series.step() }
        try series.context.save()
        series.saved = (series.plain, series.live)
        let follower = series.store.container.newContext()
        let own = try Self.follow(series.context, cached: seed % 2 == 0)
        let others = try Self.follow(follower, cached: seed % 2 == 0)
        let names = try series.store.container.cacheStatistics().map(\.name)
        #expect(names.count == (seed % 2 == 0 ? 7 : 0))
        for step in 0..<150 {
            try series.step()
            let note: Comment = "seed \(seed), step \(step): \(series.steps.suffix(8))"
            series.context.processPendingChanges()
            for check in own { try check(note) }
            guard series.steps.last == "save", !series.context.hasChanges else { continue }
            try follower.mergeChanges()
            for check in others { try check(note) }
            for name in names { #expect(try series.store.container.verifyCache(name) == [], note) }
        }
    }
}
