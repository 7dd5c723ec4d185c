import FetchIndex
import FetchIndexTestSupport
import Testing

/// Sections by related object, and observed values of related objects.
@Suite struct SectionObjectTests {
    private let store: LiveStore
    private let context: ManagedObjectContext

    /// Writers a, b and c with two novels each, and a novel without a writer.
    init() throws {
        store = try LiveStore(.library)
        context = store.container.newContext()
        for name in ["a", "b", "c"] {
            let writer = context.writer(name)
            for index in 0..<2 { _ = context.novel("\(name)\(index)", by: writer) }
        }
        _ = context.novel("z")
        try context.save()
    }

    private func controller(
        _ sort: String = "title", _ order: SectionOrder = .byFirstRow, cacheName: String? = "writers",
        observing paths: [String] = [], hasSections: Bool = true
    ) throws -> FetchedResultsController<Novel> {
        var request = FetchRequest<Novel>(sortKeys: try SortKey.list(parsing: sort))
        request.observedKeyPaths = paths
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context,
            sectionKey: hasSections ? .relationship("writer", name: "name") : nil, sectionOrder: order,
            cacheName: cacheName)
        try controller.performFetch()
        return controller
    }

    private func writer(_ name: String) throws -> Writer {
        try #require(try context.fetch(FetchRequest<Writer>(sortKeys: [])).first { $0.name == name })
    }

    private func listing(_ controller: FetchedResultsController<Novel>) -> [String] {
        controller.listing { $0.title }
    }

    @Test(arguments: [nil, "writers"]) func aRenamedObjectUpdatesItsSection(cacheName: String?) throws {
        let controller = try controller(cacheName: cacheName)
        #expect(listing(controller) == ["a: a0 a1", "b: b0 b1", "c: c0 c1", ": z"])
        #expect(controller.sections.map(\.objectID).last == .some(nil))
        let second = try writer("b").objectID
        #expect(controller.sections[1].objectID == second)
        let heard = Recorder<Novel> { $0.title }
        controller.delegate = heard
        try writer("b").name = "x"
        context.processPendingChanges()
        #expect(heard.take() == ["will change", "section x update 1 1", "did change"])
        try context.save()
        #expect(heard.take() == [])
        #expect(listing(controller) == ["a: a0 a1", "x: b0 b1", "c: c0 c1", ": z"])
    }

    @Test func aRenamedObjectMovesItsSectionInAnOrderByName() throws {
        let names = try controller("title", .byName(), cacheName: "by name")
        let keys = try controller("writer.name,title", cacheName: "by key")
        let heard = [names, keys].map { controller in
            let recorder = Recorder<Novel> { $0.title }
            controller.delegate = recorder
            return recorder
        }
        try writer("a").name = "bb"
        try context.save()
        #expect(listing(names) == [": z", "b: b0 b1", "bb: a0 a1", "c: c0 c1"])
        #expect(listing(names) == listing(keys))
        for recorder in heard { #expect(recorder.take() == ["will change", "section bb move 1 2", "did change"]) }
        for name in ["by name", "by key"] { #expect(try store.container.verifyCache(name) == []) }
    }

    @Test func objectsWithSimilarNamesHaveSeparateSections() throws {
        let controller = try controller()
        try writer("b").name = "a 2"
        try context.save()
        let other = context.writer("c 2")
        try #require(try context.fetch(FetchRequest<Novel>(sortKeys: [])).first { $0.title == "c1" }).writer = other
        try context.save()
        #expect(listing(controller) == ["a: a0 a1", "a 2: b0 b1", "c: c0", "c 2: c1", ": z"])
    }

    /// All novels of one writer go to another, and the former writer is deleted.
    @Test func mergingTwoWritersDeletesASectionAndMovesItsRows() throws {
        let controller = try controller()
        let heard = Recorder<Novel> { $0.title }
        controller.delegate = heard
        let (kept, gone) = (try writer("a"), try writer("b"))
        for novel in Array(gone.novels) { novel.writer = kept }
        context.delete(gone)
        try context.save()
        #expect(listing(controller) == ["a: a0 a1 b0 b1", "c: c0 c1", ": z"])
        #expect(
            heard.take() == ["will change", "section b delete 1 -", "b0 move 1.0 0.2", "b1 move 1.1 0.3", "did change"])
        #expect(try store.container.verifyCache("writers") == [])
    }

    @Test func aSaveKeepsTheSectionOfANewObject() throws {
        let controller = try controller("writer.name,title")
        let heard = Recorder<Novel> { $0.title }
        let writer = context.writer("b b")
        let novel = try #require(try context.fetch(FetchRequest<Novel>(sortKeys: [])).first { $0.title == "z" })
        novel.writer = writer
        let new = context.novel("new", by: writer)
        context.processPendingChanges()
        #expect(listing(controller) == ["a: a0 a1", "b: b0 b1", "b b: new z", "c: c0 c1"])
        controller.delegate = heard
        try context.save()
        #expect(listing(controller) == ["a: a0 a1", "b: b0 b1", "b b: new z", "c: c0 c1"])
        #expect(heard.take().filter { $0.hasPrefix("section") || $0.hasPrefix("z") } == [])
        #expect(controller.indexPath(forObject: new) == RowPath(section: 2, row: 0))
        #expect(try store.container.verifyCache("writers") == [])
    }

    private static let countries = Model(entities: [
        Entity(
            "Country", [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("publishers", toMany: "Publisher", inverse: "country")]),
        Entity(
            "Publisher", [AttributeDescription("rank", .integer)],
            relationships: [RelationshipDescription("country", toOne: "Country", inverse: "publishers")]),
        Entity("Imprint", [], superentity: "Publisher"),
    ])

    /// A new country with publishers is deleted before it was ever saved.
    @Test(arguments: [true, false]) func deletingANewObjectDeletesItsSection(includesSubentities: Bool)
        throws
    {
        let context = try PersistentContainer(temporaryWith: Self.countries).newContext()
        let publisher = try context.insert("Publisher")
        try context.save()
        var request = FetchRequest<ManagedObject>(entityName: "Publisher")
        request.sortKeys = [SortKey("country.name")]
        request.includesSubentities = includesSubentities
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .relationship("country", name: "name"))
        try controller.performFetch()
        let country = try context.insert("Country")
        country["name"] = "a"
        try context.insert("Imprint").relate("country", to: country)
        publisher.relate("country", to: country)
        context.processPendingChanges()
        context.delete(country)
        try context.save()
        #expect(controller.sections.map(\.name) == [""])
        #expect(controller.sections[0].count == (includesSubentities ? 2 : 1))
    }

    @Test func aCacheFollowsARenameByAnotherContext() throws {
        let before = try controller()
        #expect(before.sections.count == 4)
        let other = store.container.newContext()
        let found = try other.fetch(FetchRequest<Writer>(sortKeys: [])).first { $0.name == "c" }
        try #require(found).name = "d"
        try other.save()
        let definition = OrderDefinition(
            entity: "Novel", sortKeys: [SortKey("title")], sectionKey: .relationship("writer", name: "name"))
        let outcome = try store.container.withOrder(definition, PersistentContainer.OrderOptions(cacheName: "writers"))
        { order in
            let id = try order.section(at: 2).objectID
            #expect(id == found?.objectID)
            return order.outcome
        }
        guard case .caughtUp(let change) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(change.sections == [.update(from: 2, to: 2, name: "d")] && change.rows.isEmpty)
    }

    @Test(arguments: ["writer.nothing", "title.name", "labels.name", "nothing.name"])
    func sectionsByInvalidRelationshipsAreRefused(path: String) throws {
        let names = path.split(separator: ".").map(String.init)
        var definition = OrderDefinition(entity: "Novel", sortKeys: [SortKey("title")])
        definition.sectionKey = .relationship(names[0], name: names[1])
        #expect(throws: (any Error).self) {
            try store.container.withOrder(definition, PersistentContainer.OrderOptions()) { _ in }
        }
        #expect(try SectionKey(parsing: "relationship(a.b,name)") == .relationship("a.b", name: "name"))
        #expect(SectionKey.relationship("a.b", name: "x y").description == "relationship(a.b,`x y`)")
    }

    // MARK: Observed values

    @Test(arguments: [nil, "titles"], [true, false]) func changesOfObservedValuesAreReportedAsUpdates(
        cacheName: String?, isSaved: Bool
    ) throws {
        let silent = try controller(cacheName: cacheName, hasSections: false)
        let observing = try controller(
            cacheName: cacheName, observing: ["writer.name", "labels.name"], hasSections: false)
        let (unheard, heard) = (Recorder<Novel> { $0.title }, Recorder<Novel> { $0.title })
        silent.delegate = unheard
        observing.delegate = heard
        func settle() throws { if isSaved { try context.save() } else { context.processPendingChanges() } }
        try writer("b").name = "x"
        try settle()
        #expect(unheard.take() == [])
        #expect(heard.take() == ["will change", "b0 update 0.2 0.2", "b1 update 0.3 0.3", "did change"])
        let label = context.label("new")
        try #require(try context.fetch(FetchRequest<Novel>(sortKeys: [])).first { $0.title == "z" }).labels.insert(
            label)
        try settle()
        #expect(heard.take() == ["will change", "z update 0.6 0.6", "did change"])
        label.name = "newer"
        try settle()
        #expect(heard.take() == ["will change", "z update 0.6 0.6", "did change"])
        try context.save()
        #expect(unheard.take() == [])
    }

    @Test func changesOfObservedValuesInOtherContextsAreReported() throws {
        let observing = try controller(observing: ["writer.passport.number"], hasSections: false)
        let heard = Recorder<Novel> { $0.title }
        observing.delegate = heard
        let other = store.container.newContext()
        let found = try #require(try other.fetch(FetchRequest<Writer>(sortKeys: [])).first { $0.name == "a" })
        let passport = Passport(context: other)
        found.passport = passport
        try other.save()
        try context.mergeChanges()
        #expect(heard.take() == ["will change", "a0 update 0.0 0.0", "a1 update 0.1 0.1", "did change"])
        passport.number = 7
        try other.save()
        try context.mergeChanges()
        #expect(heard.take() == ["will change", "a0 update 0.0 0.0", "a1 update 0.1 0.1", "did change"])
    }

    @Test func invalidObservedAndPrefetchedPathsAreRefused() throws {
        for path in ["title", "nothing", "writer.nothing", "writer.name.length"] {
            #expect(throws: (any Error).self) { try controller(observing: [path]) }
            var request = FetchRequest<Novel>(sortKeys: [])
            request.relationshipKeyPathsForPrefetching = [path]
            #expect(throws: (any Error).self) { try context.fetch(request) }
        }
    }

    @Test func prefetchingDoesNotChangeTheResults() throws {
        var request = FetchRequest<Novel>(sortKeys: [SortKey("title")])
        request.relationshipKeyPathsForPrefetching = ["writer.passport", "labels", "chapters"]
        _ = context.novel("unsaved", by: context.writer("new"))
        #expect(try context.fetch(request).map(\.title) == ["a0", "a1", "b0", "b1", "c0", "c1", "unsaved", "z"])
    }
}
