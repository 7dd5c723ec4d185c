import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Compiled requests, which are kept for later fetches, don't affect fetches of other requests or with another model.
@Suite struct CompiledOrderTests {
    private func insert(_ names: [String], into container: PersistentContainer) throws {
        let context = container.newContext()
        for name in names { try context.insert("Word")["name"] = .string(name) }
        try context.save()
    }

    private func names(
        _ container: PersistentContainer, _ predicate: FetchPredicate? = nil, by attribute: String = "name",
        section: SectionKey? = nil, cache: String
    ) throws -> [[String]] {
        var request = FetchRequest<ManagedObject>(entityName: "Word")
        (request.predicate, request.sortKeys) = (predicate, [SortKey(attribute)])
        let controller = try FetchedResultsController(
            fetchRequest: request, context: container.newContext(), sectionKey: section, cacheName: cache)
        try controller.performFetch()
        return controller.sections.map { section in
            ["\(section.name)"] + section.objects.map { "\($0[attribute])" }
        }
    }

    /// Swift's `==` takes a composed and a decomposed letter as equal, but requests with them differ.
    @Test func requestsWithCanonicallyEquivalentTextsAreDifferent() throws {
        let container = try PersistentContainer(
            temporaryWith: Model(entities: [Entity("Word", [AttributeDescription("name", .string)])]))
        let texts = ["\u{e9}", "e\u{301}"]
        try insert(texts, into: container)
        for _ in 0..<2 {
            for (number, text) in texts.enumerated() {
                let found = try names(container, FetchPredicate("name == %@", text), cache: "cache \(number)")
                #expect(found.count == 1 && found[0].count == 2)
                #expect(found[0].last.map { Array($0.utf8) } == Array("\(Value.string(text))".utf8))
            }
        }
    }

    /// Section functions with the same name and version count as equal. A request must call its own function, even
    /// after an equal request with another function.
    @Test func eachRequestCallsItsOwnSectionFunction() throws {
        let container = try PersistentContainer(
            temporaryWith: Model(entities: [Entity("Word", [AttributeDescription("name", .string)])]))
        try insert(["a", "b"], into: container)
        func sections(_ title: String, _ cache: String) throws -> [String] {
            let key = SectionKey.computed("title", version: 1) { (_: ManagedObject) in title }
            return try names(container, section: key, cache: cache).map { $0[0] }
        }
        #expect(try sections("first", "a") == ["first"])
        #expect(try sections("second", "b") == ["second"])
    }

    /// Another container changes the model while this one keeps compiled requests.
    @Test func aChangedModelRecompilesRequests() throws {
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path)
        func model(_ attributes: [AttributeDescription]) throws -> Model {
            Model(entities: [Entity("Word", attributes)])
        }
        let container = try PersistentContainer(
            at: url, model: model([AttributeDescription("name", .string), AttributeDescription("other", .string)]))
        try insert(["b", "a"], into: container)
        #expect(try names(container, cache: "names")[0].dropFirst() == ["a", "b"])
        _ = try PersistentContainer(
            at: url,
            model: model([
                AttributeDescription("title", .string, renamedFrom: "name"), AttributeDescription("other", .string),
            ]))
        for name in ["title", "name", "other"] {
            let found = try names(container, by: name, cache: "by \(name)")[0].dropFirst()
            #expect(name == "other" ? found.count == 2 : found == ["a", "b"])
        }
        _ = try PersistentContainer(
            at: url,
            model: Model(entities: [Entity("Word", [AttributeDescription("other", .string)], removed: ["title"])]))
        #expect(throws: StoreError.self) { try names(container, by: "title", cache: "by title") }
    }
}
