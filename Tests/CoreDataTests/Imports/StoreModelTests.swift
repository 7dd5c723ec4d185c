import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexModels
import FetchIndexTestSupport
import Foundation
import Testing

/// Which model a store is read by.
@Suite struct StoreModelTests {
    private let store: ChangedStore
    private let container: PersistentContainer

    init() throws {
        store = try ChangedStore()
        container = try PersistentContainer(temporaryWith: Model())
    }

    private func object(_ id: String) throws -> StoreFiles.Expected? {
        try StoreFiles.contents(of: container).first { $0.id == id }
    }

    /// The version whose entities and columns fit is taken, and not the bundle's current one.
    @Test func theVersionThatFitsIsTaken() throws {
        try store.run(
            """
            DELETE FROM Z_MODELCACHE; DROP TABLE ZNOTE; DELETE FROM Z_PRIMARYKEY WHERE Z_NAME = 'Note';
            UPDATE Z_PRIMARYKEY SET Z_NAME = 'Shelf' WHERE Z_NAME = 'Shelves';
            ALTER TABLE ZSHELF RENAME ZPLACE TO ZSPOT; ALTER TABLE ZTHING DROP COLUMN ZWEIGHT;
            """)
        var options = CoreDataImportOptions()
        options.model = StoreFiles.model
        try container.importCoreDataStore(at: store.url, options: options)
        let model = try container.model()
        #expect(model.entity(named: "Note") == nil)
        #expect(model.entity(named: "Shelf")?.attributes.map(\.name) == ["spot"])
        let shelf = try StoreFiles.expected("Shop").first { $0.id == "Shelf/p1" }
        #expect(try object("Shelf/p1")?.values["spot"] == shelf?.values["place"])
    }

    @Test func anotherModelThanTheStoresOwnIsTold() throws {
        var options = CoreDataImportOptions()
        options.model = StoreFiles.model
        #expect(try CoreDataStore(contentsOf: store.url, options: options).differences.count == 3)
        options.model = ModelFiles.library
        #expect(
            try CoreDataStore(contentsOf: store.url, options: options).differences[0].description
                == "changed: the model: the store's own is used, and Library.xcdatamodeld is another")
    }

    @Test func aMissingLogIsTold() throws {
        try store.run("PRAGMA journal_mode = WAL")
        let told = try CoreDataStore(contentsOf: store.url).differences[0].description
        #expect(told == "left out: what is in its log, if it had one: App.sqlite-wal is missing")
    }
}
