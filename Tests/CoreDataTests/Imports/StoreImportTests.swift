import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexModels
import FetchIndexTestSupport
import Foundation
import Testing

/// Stores of Core Data become stores of FetchIndex, object for object.
@Suite struct StoreImportTests {
    private let folder = TemporaryFolder()

    private func container() throws -> PersistentContainer {
        try PersistentContainer(temporaryWith: Model(entities: []))
    }

    private func expectContents(
        _ container: PersistentContainer, _ name: String, decoding decodes: Bool = false
    ) throws {
        let found = try StoreFiles.contents(of: container).normalized.withoutAddedSides
        let expected = try StoreFiles.expected(name).normalized.decoding(decodes)
        #expect(found.map(\.id) == expected.map(\.id))
        for (found, expected) in zip(found, expected) { #expect(found == expected) }
        #expect(try container.check { _, _ in } == [])
    }

    @Test func allObjectsAndLinksComeBack() throws {
        let container = try container()
        let outcome = try container.importCoreDataStore(at: StoreFiles.store("Shop"))
        let count = try StoreFiles.expected("Shop").count
        #expect(outcome.counts.inserted == count && outcome.counts.changed == count)
        try expectContents(container, "Shop")
        #expect(
            outcome.differences.map(\.description) == [
                "changed: to-many relationships without an inverse, which get one (1): Person.notes",
                "as bytes: transformable attributes (1): Person.archive",
                "left out: transient attributes (1): Person.shown",
            ])
    }

    /// The changes are in the log, which is read with the database, and neither is changed.
    @Test func aLaterCopyWritesOnlyWhatDiffers() throws {
        let container = try container()
        try container.importCoreDataStore(at: StoreFiles.store("Shop"))
        let names = try FileManager.default.contentsOfDirectory(atPath: StoreFiles.folder.path).sorted()
        let outcome = try container.importCoreDataStore(at: StoreFiles.store("Shop2"))
        try expectContents(container, "Shop2")
        #expect(try FileManager.default.contentsOfDirectory(atPath: StoreFiles.folder.path).sorted() == names)
        let before = Dictionary(uniqueKeysWithValues: try StoreFiles.expected("Shop").map { ($0.id, $0) })
        let after = Dictionary(uniqueKeysWithValues: try StoreFiles.expected("Shop2").map { ($0.id, $0) })
        #expect(outcome.counts.inserted == after.keys.count { before[$0] == nil })
        #expect(outcome.counts.deleted == before.keys.count { after[$0] == nil })
        let again = try container.importCoreDataStore(at: StoreFiles.store("Shop2"))
        #expect(again.counts.changed == 0 && again.counts.unchanged == after.count && again.links.changed == 0)
        #expect(again.commit == outcome.commit)
    }

    /// The files are compared, and whether the container has changed since.
    @Test func theSameCopyIsWrittenOnlyIfSomethingHasChangedSince() throws {
        let store = try ChangedStore()
        let container = try container()
        let first = try container.importCoreDataStore(at: store.url)
        let again = try container.importCoreDataStore(at: store.url)
        #expect(again.counts.unchanged == first.counts.inserted && again.counts.changed == 0)
        #expect(again.links.unchanged == first.links.inserted && again.links.changed == 0)
        #expect(again.commit == first.commit && again.differences == first.differences)
        var all = CoreDataImportOptions()
        all.readsAll = true
        let read = try container.importCoreDataStore(at: store.url, options: all)
        #expect(read.counts == again.counts && read.links == again.links)
        // A large value's file is lost.
        let folder = store.url.deletingLastPathComponent().path + "/.App_SUPPORT/_EXTERNAL_DATA/"
        let name = try #require(FileManager.default.contentsOfDirectory(atPath: folder).sorted().first)
        try FileManager.default.removeItem(atPath: folder + name)
        let lost = try container.importCoreDataStore(at: store.url)
        #expect(lost.counts.updated == 1 && lost.commit == first.commit + 1)
        // Somebody has changed the container.
        let context = container.newContext()
        let shelf = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Shelf")).first)
        shelf["place"] = .string("elsewhere")
        try context.save()
        #expect(try container.importCoreDataStore(at: store.url).counts.updated == 1)
    }

    /// Objects that were deleted return under their numbers, and caches catch up with both.
    @Test func anEarlierCopyBringsDeletedObjectsBack() throws {
        let container = try container()
        try container.importCoreDataStore(at: StoreFiles.store("Shop2"))
        var request = FetchRequest<ManagedObject>(entityName: "Thing")
        request.sortKeys = [SortKey("title")]
        func open(_ name: String) throws -> (FetchOutcome, [String]) {
            let controller = try FetchedResultsController(
                fetchRequest: request, context: container.newContext(), cacheName: name)
            let outcome = try controller.performFetch()
            return (outcome, controller.fetchedObjects?.map { "\($0.entity.name) \($0.objectID)" } ?? [])
        }
        _ = try open("things")
        for copy in ["Shop", "Shop2", "Shop"] {
            try container.importCoreDataStore(at: StoreFiles.store(copy))
            try expectContents(container, copy)
            let (outcome, rows) = try open("things")
            guard case .caughtUp = outcome else {
                Issue.record("\(outcome)")
                continue
            }
            #expect(try rows == open("fresh \(copy) \(rows.count)").1)
        }
    }

    @Test func aStoreWithoutAModelNeedsTheApps() throws {
        let container = try container()
        let url = StoreFiles.store("ShopOld")
        let error = #expect(throws: CoreDataFileError.self) { try container.importCoreDataStore(at: url) }
        #expect(error?.reason == "the store does not contain its model, and the app's is not given")
        var options = CoreDataImportOptions()
        options.model = StoreFiles.model
        try container.importCoreDataStore(at: url, options: options)
        try expectContents(container, "ShopOld")
    }

    /// Lists, dictionaries, texts and numbers become texts of JSON, if all values of the attribute can.
    @Test func archivedValuesCanBecomeJSON() throws {
        var options = CoreDataImportOptions()
        options.decodesArchives = true
        let container = try container()
        let outcome = try container.importCoreDataStore(at: StoreFiles.store("Shop"), options: options)
        #expect(!outcome.differences.contains { $0.kind == .asBytes })
        try expectContents(container, "Shop", decoding: true)
        let store = try ChangedStore()
        try store.run("UPDATE ZPERSON SET ZARCHIVE = x'00' WHERE Z_PK = 1; UPDATE ZPERSON SET ZLINES = NULL")
        let other = try self.container()
        let kept = try other.importCoreDataStore(at: store.url, options: options).differences
        #expect(kept.contains { $0.description == "as bytes: transformable attributes (1): Person.archive" })
        #expect(!kept.contains { $0.what.hasPrefix("required properties") })
        let types = try other.model().entity(named: "Person")?.attributes.map { ($0.name, $0.type) } ?? []
        #expect(types.first { $0.0 == "archive" }?.1 == .data)
        #expect(types.first { $0.0 == "address.lines" }?.1 == .string)
    }
}
