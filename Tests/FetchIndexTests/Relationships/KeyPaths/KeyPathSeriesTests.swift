import FetchIndex
import FetchIndexTestSupport
import Testing

/// Controllers whose requests have key paths through relationships, and random edits of all objects. The controllers'
/// rows must be those that plain Swift code computes: after each step in the context that edits, and after each save in
/// a context that merges.
@Suite struct KeyPathSeriesTests {
    /// A request, and the functions that compute its expected rows.
    private struct Kind<Object: ManagedObject> {
        var predicate: String?
        let sort: String
        var section: SectionKey?
        var sectionOrder = SectionOrder.byFirstRow
        /// The offset and limit of the request; nil if it has all rows.
        var window: (offset: Int, limit: Int)?
        let isMember: (Object) -> Bool
        /// The values of an object's sort keys as texts, in their order; nil is null.
        let keys: (Object) -> [String?]
        var sectionName: (Object) -> String = { _ in "" }
        /// The related object whose section a row is in, and the section's name.
        var sectionObject: ((Object) -> (id: ObjectID, name: String)?)?
    }

    /// A controller, and the rows that result from replaying its changes.
    private final class Followed<Object: ManagedObject>: FetchedResultsControllerDelegate {
        private let kind: Kind<Object>
        private let controller: FetchedResultsController<Object>
        private let context: ManagedObjectContext
        private let name: String
        private var rows: [[ObjectID]] = []
        private var names: [String] = []

        init(_ kind: Kind<Object>, _ name: String, cacheName: String?, in context: ManagedObjectContext) throws {
            (self.kind, self.context, self.name) = (kind, context, name)
            var request = FetchRequest<Object>(sortKeys: try SortKey.list(parsing: kind.sort))
            request.predicate = try kind.predicate.map { try FetchPredicate(format: $0, argumentArray: []) }
            if let window = kind.window { (request.fetchOffset, request.fetchLimit) = window }
            controller = try FetchedResultsController(
                fetchRequest: request, context: context, sectionKey: kind.section, sectionOrder: kind.sectionOrder,
                cacheName: cacheName)
            try controller.performFetch()
            rows = controller.snapshot.objectIDs
            names = controller.snapshot.sectionNames
            controller.delegate = self
        }

        func controller(_ controller: FetchedResultsController<Object>, didChange change: ResultsChange) {
            if let new = change.replay(on: rows.map { $0.map { change.renumbered[$0] ?? $0 } }) {
                rows = new
            } else {
                Issue.record("\(name): \(change) cannot be replayed")
            }
            replayNames(change.sections)
        }

        private func replayNames(_ events: [ResultsChange.SectionEvent]) {
            var left: [String?] = names
            var come: [(Int, String)] = []
            var renamed: [(Int, String)] = []
            for event in events {
                switch event {
                case .delete(let from, _): left[from] = nil
                case .insert(let to, let name): come.append((to, name))
                case .move(let from, let to, let name):
                    left[from] = nil
                    come.append((to, name))
                case .update(let from, let to, let new):
                    if names[from] == new { Issue.record("\(name): an update of a section whose name hasn't changed") }
                    renamed.append((to, new))
                }
            }
            names = left.compactMap { $0 }
            for (index, name) in come.sorted(by: { $0.0 < $1.0 }) { names.insert(name, at: index) }
            for (index, name) in renamed { names[index] = name }
        }

        /// Sorts sections by the section order. Sections with equal keys are in the order of their objects' ids, with
        /// the section without an object first.
        private func sort(_ sections: inout [[Object]], _ object: (Object) -> (id: ObjectID, name: String)?) {
            func isBefore(_ left: [Object], _ right: [Object], _ isEqual: Bool, _ isLess: Bool) -> Bool {
                guard isEqual else { return isLess }
                guard let one = object(left[0]), let other = object(right[0]) else {
                    return object(left[0]) == nil && object(right[0]) != nil
                }
                return one.id < other.id
            }
            func name(_ section: [Object]) -> String { object(section[0])?.name ?? "" }
            switch kind.sectionOrder {
            case .byFirstRow: break
            case .byName(let isDescending, _):
                sections.sort {
                    isBefore($0, $1, name($0) == name($1), isDescending ? name($0) > name($1) : name($0) < name($1))
                }
            case .byCount:
                sections.sort {
                    let isEqual = $0.count == $1.count
                    return isBefore(
                        $0, $1, isEqual && name($0) == name($1), isEqual ? name($0) < name($1) : $0.count > $1.count)
                }
            }
        }

        private func cut(_ sections: inout [[Object]]) {
            guard let (offset, limit) = kind.window else { return }
            var (skipped, left) = (offset, limit)
            sections = sections.map { section in
                let rest = section.dropFirst(skipped)
                skipped -= min(skipped, section.count)
                let taken = Array(rest.prefix(left))
                left -= taken.count
                return taken
            }.filter { !$0.isEmpty }
        }

        func check(_ note: Comment) throws {
            #expect(rows == controller.snapshot.objectIDs, note)
            #expect(names == controller.snapshot.sectionNames, "\(name): \(note)")
            func less(_ left: Object, _ right: Object) -> Bool {
                for (one, other) in zip(kind.keys(left), kind.keys(right)) where one != other {
                    guard let one, let other else { return one == nil }
                    return one < other
                }
                return left.objectID < right.objectID
            }
            let members = try context.fetch(FetchRequest<Object>()).filter(kind.isMember)
            let isOfObjects = kind.sectionObject != nil
            func group(_ object: Object) -> String {
                isOfObjects ? kind.sectionObject?(object).map { "\($0.id)" } ?? "" : kind.sectionName(object)
            }
            let sections = Dictionary(grouping: members, by: group).mapValues { $0.sorted(by: less) }
            var expected = sections.values.sorted { less($0[0], $1[0]) }
            if let object = kind.sectionObject {
                sort(&expected, object)
                cut(&expected)
                #expect(names == expected.map { object($0[0])?.name ?? "" }, "\(name): \(note)")
                #expect(controller.sections.map(\.objectID) == expected.map { object($0[0])?.id }, "\(name): \(note)")
            }
            // A request without a section key has one section.
            let none: [[ObjectID]] = kind.section == nil ? [[]] : []
            #expect(rows == (expected.isEmpty ? none : expected.map { $0.map(\.objectID) }), "\(name): \(note)")
            for object in members.prefix(3) where kind.window == nil {
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

    private static func byWriter(sort: String, _ order: SectionOrder = .byFirstRow) -> Kind<Novel> {
        Kind(
            sort: sort, section: .relationship("writer", name: "name"), sectionOrder: order, isMember: { _ in true },
            keys: { sort.hasPrefix("writer.name") ? [$0.writer?.name, $0.title] : [$0.title] },
            sectionObject: { $0.writer.map { ($0.objectID, $0.name) } })
    }
    private static func aggregated(_ sort: String, _ value: @escaping (Writer) -> Int?) -> Kind<Writer> {
        Kind(sort: "\(sort),name", isMember: { _ in true }, keys: { [padded(value($0)), $0.name] })
    }
    private static func byParent(_ order: SectionOrder, _ window: (offset: Int, limit: Int)? = nil) -> Kind<Folder> {
        Kind(
            sort: "name", section: .relationship("parent", name: "name"), sectionOrder: order, window: window,
            isMember: { _ in true }, keys: { [$0.name] }, sectionObject: { $0.parent.map { ($0.objectID, $0.name) } })
    }
    private static var foldersOfFolders: Kind<Folder> {
        Kind(
            sort: "name", section: .relationship("parent.parent", name: "name"), isMember: { _ in true },
            keys: { [$0.name] }, sectionObject: { $0.parent?.parent.map { ($0.objectID, $0.name) } })
    }
    private static var byPassport: Kind<Novel> {
        Kind(
            sort: "title", section: .relationship("writer.passport", name: "number"), isMember: { _ in true },
            keys: { [$0.title] }, sectionObject: { $0.writer?.passport.map { ($0.objectID, String($0.number)) } })
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
            check(summed, "summed"), check(byWriter(sort: "title"), "writers"),
            check(byWriter(sort: "writer.name,title"), "writers by name first"),
            check(byWriter(sort: "title", .byName()), "writers by name"),
            check(aggregated("novels.@sum.price") { $0.novels.reduce(0) { $0 + $1.price } }, "sums"),
            check(aggregated("novels.@max.price") { $0.novels.map(\.price).max() }, "greatest"),
            check(aggregated("novels.@count") { $0.novels.count }, "counts"),
            check(byParent(.byName()), "parents by name"),
            check(byParent(.byName(descending: true)), "parents by name, last first"),
            check(byParent(.byCount()), "parents by count"),
            check(byParent(.byName(), (2, 5)), "some parents by name"),
            check(foldersOfFolders, "folders of folders"), check(byPassport, "by passport"),
        ]
    }

    @Test(arguments: 0..<(TestSettings.isLong ? 24 : 8)) func ordersFollowEditsOfRelatedObjects(seed: UInt64) throws {
        var series = try LibrarySeries(seed: seed &+ 1000)
        series.changesValues = true
        for _ in 0..<40 { try series.step() }
        try series.context.save()
        series.saved = (series.plain, series.live)
        let follower = series.store.container.newContext()
        let own = try Self.follow(series.context, cached: seed % 2 == 0)
        let others = try Self.follow(follower, cached: seed % 2 == 0)
        let names = try series.store.container.cacheStatistics().map(\.name)
        #expect(names.count == (seed % 2 == 0 ? 19 : 0))
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
