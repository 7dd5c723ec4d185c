import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexModels
import FetchIndexTestSupport
import Foundation
import Testing

/// Later copies whose models differ, and stores with other objects.
@Suite struct LaterCopyTests {
    private let store: ChangedStore
    private let container: PersistentContainer

    init() throws {
        store = try ChangedStore()
        container = try PersistentContainer(temporaryWith: Model())
    }

    @Test func objectsOfOthersAreNotReplaced() throws {
        try container.importCoreDataStore(at: store.url)
        let other = try PersistentContainer(temporaryWith: container.model())
        let writer = try BatchWriter(other, entity: "Shelf")
        try writer.insert([.string("mine")])
        try writer.commit()
        let error = #expect(throws: CoreDataFileError.self) { try other.importCoreDataStore(at: store.url) }
        #expect(error?.reason == "Shelf has 1 objects that were not imported from it, and would be replaced")
        #expect(error?.remedy == .hasSameIdentity)
    }

    /// A later copy's model may lead a relationship elsewhere, or to many objects, and lack entities.
    @Test func laterModelsMayChangeRelationshipsAndEntities() throws {
        try container.importCoreDataStore(at: store.url)
        var options = CoreDataImportOptions()
        (options.without, options.mostDeleted) = (["label", "Card", "Note"], 100)
        try container.importCoreDataStore(at: store.url, options: options)
        #expect(try container.check { _, _ in } == [])
        let model = try container.model()
        #expect(model.entity(named: "Item")?.relationship(named: "labels") == nil)
        // Objects that were left out on demand stay.
        #expect(try StoreFiles.contents(of: container).contains { $0.id.hasPrefix("label/") })
        try container.importCoreDataStore(at: store.url)
        #expect(try container.model().entity(named: "Item")?.relationship(named: "labels") != nil)
        let found = try StoreFiles.contents(of: container).normalized.withoutAddedSides
        #expect(try found == StoreFiles.expected("Shop").normalized.decoding(false))
    }
}
