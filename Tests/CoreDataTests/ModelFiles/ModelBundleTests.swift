import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexTestSupport
import Foundation
import Testing

/// Bundles, compiled models and stores contain models.
@Suite struct ModelBundleTests {
    private let files = ModelFiles()

    @Test func theCurrentVersionOrANamedOneIsRead() throws {
        let first = try CoreDataModel(contentsOf: ModelFiles.library, version: "Library")
        #expect(first.model.entity(named: "Publisher") != nil && first.model.entity(named: "House") == nil)
        #expect(
            try CoreDataModel(contentsOf: ModelFiles.library, version: "Library 2.xcdatamodel").model.entities
                == declaredModel.entities)
        #expect(try Model(contentsOf: ModelFiles.library.appendingPathComponent("Library.xcdatamodel")) == first.model)
        #expect(
            try Model(contentsOf: ModelFiles.library.appendingPathComponent("Library.xcdatamodel/contents"))
                == first.model)
        #expect(
            files.reason(ModelFiles.library, version: "3")
                == "it has no version 3; its versions are: Library, Library 2")
        #expect(
            files.reason(ModelFiles.library.appendingPathComponent("Library.xcdatamodel"), version: "3")
                == "it is one version of a model, so it has no version 3")
    }

    /// `make_models.py` has compiled the versions of the bundle.
    @Test func compiledModelsAreTheSame() throws {
        let compiled = ModelFiles.library.deletingLastPathComponent().appendingPathComponent("Library.momd")
        for version in [nil, "Library", "Library 2"] {
            let (source, archive) = (
                try CoreDataModel(contentsOf: ModelFiles.library, version: version),
                try CoreDataModel(contentsOf: compiled, version: version)
            )
            // An archive has no order.
            #expect(Set(source.model.entities) == Set(archive.model.entities))
            #expect(source.classNames == archive.classNames)
            #expect(Set(source.differences) == Set(archive.differences))
            #expect(source.model.requests.sorted { $0.name < $1.name } == archive.model.requests)
            #expect(archive.model.requests.map(\.name) == ["AllTags", "BooksUnder", "Odd", "Sums"])
            for entity in source.model.entities {
                let other = try #require(archive.model.entity(named: entity.name))
                func defaults(_ entity: Entity) -> [String: Value] {
                    Dictionary(uniqueKeysWithValues: entity.attributes.map { ($0.name, $0.defaultValue) })
                }
                #expect(defaults(entity) == defaults(other))
            }
        }
        let first = try Model(contentsOf: compiled.appendingPathComponent("Library.mom"))
        #expect(try Set(first.entities) == Set(Model(contentsOf: ModelFiles.library, version: "Library").entities))
        #expect(files.reason(compiled, version: "3") == "it has no version 3; its versions are: Library, Library 2")
        #expect(
            files.reason(compiled.appendingPathComponent("VersionInfo.plist"))
                == "the property list is not a keyed archive")
    }

    /// A request whose predicate is damaged or odd is left out: without a part of its condition it would find more objects.
    @Test func archivedPredicatesAreReadWholeOrNotAtAll() throws {
        let url = ModelFiles.library.deletingLastPathComponent().appendingPathComponent("OddTemplates.mom")
        let read = try CoreDataModel(contentsOf: url, version: nil)
        #expect(
            read.model.requests.map { "\($0.name): \($0.predicate)" } == [
                "keyword: #no == \"v\"", "power: (-2) ** 2 == 4", "text: name == \"a \\\"b\\\" \\\\\\n\"",
            ])
        let told = try #require(read.differences.first { $0.what.hasPrefix("fetch request templates") })
        #expect(read.differences.count == 1 && told.count == 12)
        let container = try PersistentContainer(temporaryWith: read.model)
        let context = container.newContext()
        for text in ["v", "w"] { try context.insert("Thing")["no"] = .string(text) }
        try context.save()
        #expect(try context.count(for: container.request(named: "keyword")) == 1)
        #expect(try context.count(for: container.request(named: "power")) == 2)
    }

    /// A store contains its model. It's read in a private copy: nothing appears beside the store, and nothing in it
    /// changes.
    @Test func theModelOfAStoreIsTheSame() throws {
        let store = URL(fileURLWithPath: files.folder.path).appendingPathComponent("App.store")
        let models = ModelFiles.library.deletingLastPathComponent()
        try FileManager.default.createDirectory(atPath: files.folder.path, withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: models.appendingPathComponent("Library.sqlite"), to: store)
        let bytes = try Data(contentsOf: store)
        let read = try CoreDataModel(contentsOf: store)
        let compiled = try CoreDataModel(contentsOf: models.appendingPathComponent("Library.momd"))
        #expect(Set(read.model.entities) == Set(compiled.model.entities))
        #expect(read.differences == compiled.differences)
        // A database with a log (the version for writing is 2), which isn't there.
        var logged = bytes
        logged[18] = 2
        logged[19] = 2
        try logged.write(to: store)
        #expect(
            try CoreDataModel(contentsOf: store).differences.first?.description
                == "left out: what is in its log, if it had one: App.store-wal is missing")
        #expect(try Data(contentsOf: store) == logged)
        #expect(try FileManager.default.contentsOfDirectory(atPath: files.folder.path) == ["App.store"])
        #expect(files.reason(store, version: "2") == "it is one version of a model, so it has no version 2")
    }

    @Test func bundlesThatSayTooLittleAreRefused() throws {
        let model = "<model><entity name=\"A\"><attribute name=\"a\" attributeType=\"String\"/></entity></model>"
        _ = try files.file("One.xcdatamodeld/One.xcdatamodel/contents", model)
        let bundle = URL(fileURLWithPath: files.folder.path).appendingPathComponent("One.xcdatamodeld")
        #expect(files.reason(bundle) == "")
        // A bundle within a bundle is not one of its versions.
        _ = try files.file("One.xcdatamodeld/Old.xcdatamodeld/Two.xcdatamodel/contents", model)
        #expect(files.reason(bundle) == "")
        _ = try files.file("One.xcdatamodeld/Two.xcdatamodel/contents", model)
        #expect(files.reason(bundle) == "it does not say which version is the current one; its versions are: One, Two")
        let list = "<plist><dict><key>_XCCurrentVersionName</key><string>Three.xcdatamodel</string></dict></plist>"
        _ = try files.file("One.xcdatamodeld/.xccurrentversion", list)
        #expect(
            files.reason(bundle) == "its current version, Three.xcdatamodel, is missing; its versions are: One, Two")
        _ = try files.file("One.xcdatamodeld/.xccurrentversion", list.replacingOccurrences(of: "Three", with: "Two"))
        #expect(files.reason(bundle) == "")
        _ = try files.file("Empty.xcdatamodeld/readme", "")
        #expect(
            files.reason(bundle.deletingLastPathComponent().appendingPathComponent("Empty.xcdatamodeld"))
                == "it contains no version of a model")
        _ = try files.file("Old.xcdatamodel/elements", "")
        #expect(
            files.reason(bundle.deletingLastPathComponent().appendingPathComponent("Old.xcdatamodel"))
                == "it is a model of Xcode 3, whose form is not read; save it with a later Xcode first")
        #expect(files.reason(URL(fileURLWithPath: files.folder.path + "/none")) == "it cannot be read")
    }

    /// A link to a bundle or a store is read; the copy of a store is one of the store itself, not of the link.
    @Test func symbolicLinksAreFollowed() throws {
        let models = ModelFiles.library.deletingLastPathComponent()
        let store = URL(fileURLWithPath: try files.file("stores/App.sqlite", "").path)
        try FileManager.default.removeItem(at: store)
        try FileManager.default.copyItem(at: models.appendingPathComponent("Library.sqlite"), to: store)
        for (name, target) in [("Link.xcdatamodeld", ModelFiles.library), ("Link.sqlite", store)] {
            let link = URL(fileURLWithPath: files.folder.path + "/" + name)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
            #expect(try !Model(contentsOf: link).entities.isEmpty)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: files.folder.path + "/stores") == ["App.sqlite"])
    }
}
