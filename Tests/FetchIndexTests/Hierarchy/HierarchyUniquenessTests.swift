import FetchIndex
import Foundation
import FetchIndexModels
import FetchIndexTestSupport
import Testing

/// Changes of a hierarchy with unique attributes. Values are unique among all objects of the entity that declares the
/// attribute, including subentities.
@Suite struct HierarchyUniquenessTests {
    private let store = Works()

    @Test func anAttributeThatMovesIntoTheBaseEntityStaysUnique() throws {
        let below = Model(entities: [
            Entity("Base", [.title]), Entity("Sub", [.uniqueISBN], superentity: "Base"),
        ])
        let container = try store.open(below)
        try store.insert("Sub", [["isbn": "a"], ["isbn": "b"]], container)
        let above = Model(entities: [
            Entity("Base", [.title, .uniqueISBN]), Entity("Sub", [], superentity: "Base"),
        ])
        #expect(try container.plan(for: above).verdict == .pass)
        #expect(throws: StoreError.self) { try store.open(above) }
        let moved = try store.open(above, .automatic)
        #expect(try moved.check { _, _ in } == [])
        #expect(throws: ValidationError.self) { try store.insert("Base", [["isbn": "a"]], moved) }
        try store.insert("Base", [["isbn": "c"]], moved)
        #expect(throws: ValidationError.self) { try store.insert("Sub", [["isbn": "c"]], moved) }
        // The attribute is no longer unique, so an object of Base may repeat a value.
        let out = Model(entities: [
            Entity("Base", [.title, .isbn]), Entity("Sub", [.isbn], superentity: "Base"),
        ])
        let plain = try store.open(out, .automatic)
        try store.insert("Base", [["isbn": "a"]], plain)
        #expect(try plain.check { _, _ in } == [])
        #expect {
            try plain.migrate(to: above)
        } throws: { error in
            "\(error)".contains("Sub cannot be migrated: isbn of #1 must be unique, but Base 2 has the same value")
        }
        #expect(try plain.check { _, _ in } == [])
    }

    @Test func aUniqueConstraintHoldsAfterItMovesIntoTheBaseEntityAndBack() throws {
        let list = [["isbn", "title"]]
        let below = Model(entities: [
            Entity("Base", [.title, .isbn]), Entity("Sub", [], unique: list, superentity: "Base"),
        ])
        try store.insert("Sub", [["isbn": "a", "title": "t"]], store.open(below))
        let above = Model(entities: [
            Entity("Base", [.title, .isbn], unique: list), Entity("Sub", [], superentity: "Base"),
        ])
        let moved = try store.open(above, .automatic)
        #expect(throws: ValidationError.self) { try store.insert("Base", [["isbn": "a", "title": "t"]], moved) }
        #expect(try moved.check { _, _ in } == [])
        try moved.migrate(to: below)
        #expect(try moved.check { _, _ in } == [])
        #expect(throws: ValidationError.self) { try store.insert("Sub", [["isbn": "a", "title": "t"]], moved) }
    }

    @Test func aMigrationOfASubentityKeepsTheUniqueKeysOfItsHierarchy() throws {
        func model(_ pages: ValueType) -> Model {
            let key = AttributeDescription("key", .string, isUnique: true, derivation: "lowercase:(title)")
            return Model(entities: [
                Entity("Base", [.title, key]),
                Entity("One", [AttributeDescription("pages", pages)], superentity: "Base"),
                Entity("Two", [], superentity: "Base"),
            ])
        }
        let container = try store.open(model(.integer))
        try store.insert("Base", [["title": "A"]], container)
        try store.insert("One", [["title": "B", "pages": 3]], container)
        try store.insert("Two", [["title": "C"]], container)
        let changed = try store.open(model(.string), .automatic)
        #expect(try changed.check { _, _ in } == [])
        for title in ["a", "b", "c"] {
            #expect(throws: ValidationError.self) { try store.insert("Two", [["title": .string(title)]], changed) }
        }
    }
}
