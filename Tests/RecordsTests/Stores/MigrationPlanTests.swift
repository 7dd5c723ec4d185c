import FetchIndexModels
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

/// For several kinds of changes of an entity: the verdict, the effect on the records, and the objects that prevent some
/// of the changes.
@Suite struct MigrationPlanTests {
    /// A change of the entity, the verdict that a plan must give it, and the values that the first object must have
    /// afterwards.
    struct Case: CustomStringConvertible {
        let description: String
        let verdict: ModelDifference.Verdict
        let entity: Entity
        let values: [String: Value]

        init(
            _ description: String, _ verdict: ModelDifference.Verdict, _ attributes: [AttributeDescription],
            unique: [[String]] = [], removed: [String] = [], _ values: [String: Value]
        ) {
            (self.description, self.verdict, self.values) = (description, verdict, values)
            entity = Entity("Item", attributes, unique: unique, removed: removed)
        }
    }

    private static let code = AttributeDescription("code", .string, isUnique: true)
    private static let size = AttributeDescription("size", .integer)
    private static let note = AttributeDescription("note", .string)
    private static let model = Model(entities: [Entity("Item", [code, size, note])])

    static let cases: [Case] = [
        Case("add an attribute", .free, [code, size, note, AttributeDescription("new", .string)], ["new": .null]),
        Case(
            "add an attribute with a default", .free,
            [code, size, note, AttributeDescription("new", .integer, isOptional: false, defaultValue: 7)], ["new": 7]),
        Case(
            "rename", .free, [code, AttributeDescription("width", .integer, renamedFrom: "size"), note], ["width": 1]),
        Case("remove", .free, [code, size], removed: ["note"], ["size": 1]),
        Case("stop being unique", .pass, [AttributeDescription("code", .string), size, note], ["code": "1"]),
        Case(
            "become required", .pass, [code, AttributeDescription("size", .integer, isOptional: false), note],
            ["size": 1]),
        Case(
            "become unique", .pass, [code, AttributeDescription("size", .integer, isUnique: true), note], ["size": 1]),
        Case("become unique together", .pass, [code, size, note], unique: [["size", "note"]], ["size": 1]),
        Case("change a type", .pass, [code, AttributeDescription("size", .string), note], ["size": "1"]),
        Case(
            "add a required attribute", .decision,
            [code, size, note, AttributeDescription("new", .integer, isOptional: false)], ["new": 101]),
    ]

    private let test: TestStore

    init() throws {
        test = try TestStore(model: Self.model)
        try test.write { writer in
            for number in 1...20 {
                let record = try Self.model.entities[0].record([.string("\(number)"), .integer(Int64(number)), "note"])
                try writer.insert(0, record.span.bytes)
            }
        }
    }

    private struct State: Equatable {
        let commit: UInt64
        let version: UInt32
        let contents: [UInt64: [UInt8]]
        let model: Model
    }

    private func state() throws -> State {
        let snapshot = try test.store.snapshot()
        return State(
            commit: snapshot.commit, version: snapshot.modelVersion, contents: try test.contents(),
            model: snapshot.model)
    }

    private func values() throws -> [String: Value] {
        let snapshot = try test.store.snapshot()
        let entity = snapshot.model.entities[0]
        let record = try #require(try snapshot.copy(of: RecordKey(entity: 0, number: 1)))
        let values = try entity.values(of: record.span.bytes)
        return Dictionary(uniqueKeysWithValues: zip(entity.attributes.map(\.name), values))
    }

    private func migration(_ verdict: ModelDifference.Verdict) -> Migration {
        var migration = Migration()
        migration.allowsPasses = verdict == .pass
        if verdict == .decision {
            migration.convert = { _, old in
                guard case .integer(let size)? = old["size"] else { return [:] }
                return ["new": .integer(size + 100)]
            }
        }
        return migration
    }

    @Test(arguments: cases) func aChangeIsMadeOnlyIfTheMigrationAllowsItsVerdict(change: Case) throws {
        let model = Model(entities: [change.entity])
        let before = try state()
        #expect(try test.store.difference(to: model).verdict == change.verdict)
        #expect(try state() == before, "a difference changes nothing")
        for less in [ModelDifference.Verdict.free, .pass] where less < change.verdict {
            #expect(throws: StoreError.self, "\(less)") { try test.store.beginMigration(to: model, migration(less)) }
            #expect(try state() == before, "\(less)")
        }
        // A migration that is dropped changes nothing.
        #expect(try test.store.beginMigration(to: model, migration(change.verdict)) != nil)
        #expect(try state() == before)
        let open = try #require(try test.store.beginMigration(to: model, migration(change.verdict)))
        #expect(open.old == before.model)
        try open.writer.commit()
        let after = try state()
        #expect(after.version != before.version)
        let found = try values()
        for (name, value) in change.values { #expect(found[name] == value, "\(name)") }
        if change.verdict == .free {
            #expect(after.contents == before.contents, "a free change touches no record")
            #expect(after.commit == before.commit)
        } else {
            // A pass is a commit whose log has no changed objects.
            #expect(after.commit == before.commit + 1)
            let snapshot = try test.store.snapshot()
            try snapshot.netChanges(of: 0, from: before.commit) { Issue.record("\($0)") }
            #expect(try snapshot.commits(after: before.commit).map(\.author) == ["migration"])
        }
        #expect(try test.store.difference(to: model).isEmpty)
        #expect(try test.store.beginMigration(to: model, Migration()) == nil, "nothing is left to do")
        #expect(try test.store.snapshot().check() == [])
    }

    /// If the entity has no objects, each of the changes is free.
    @Test(arguments: cases) func aChangeOfAnEntityWithoutObjectsIsFree(change: Case) throws {
        let empty = try TestStore(model: Self.model)
        let model = Model(entities: [change.entity])
        #expect(try empty.store.difference(to: model).verdict == .free)
        try #require(try empty.store.beginMigration(to: model, Migration())).writer.commit()
        #expect(
            try empty.store.snapshot().model.entities[0].attributes.map(\.name).sorted()
                == change.entity.attributes.map(\.name).sorted())
    }

    /// For a null and for a value of another type, the error names the first five objects that prevent the change. No
    /// change is made.
    @Test func objectsThatPreventAChangeAreNamed() throws {
        try test.write { writer in
            for number in 3...9 as ClosedRange<UInt64> {
                let record = try Self.model.entities[0].record([.string("\(number)"), .null, "note"])
                try writer.update(RecordKey(entity: 0, number: number), record.span.bytes)
            }
        }
        let before = try state()
        let obstacles: [(Entity, reason: String, numbers: [UInt64])] = [
            (Self.cases[5].entity, "is required, and is null", [3, 4, 5, 6, 7]),
            (
                Entity("Item", [Self.code, Self.size, AttributeDescription("note", .integer)]), "is not an integer",
                [1, 2, 3, 4, 5]
            ),
        ]
        for (entity, reason, numbers) in obstacles {
            do {
                _ = try test.store.beginMigration(to: Model(entities: [entity]), migration(.pass))
                Issue.record("\(reason): it was made")
            } catch StoreError.cannotMigrate(_, _, let found, let objects) {
                #expect(found == reason)
                #expect(objects.map(\.number) == numbers)
            }
            #expect(try state() == before, "\(reason)")
        }
        let unique = Entity("Item", [Self.code, Self.size, AttributeDescription("note", .string, isUnique: true)])
        #expect(throws: StoreError.self) {
            try test.store.beginMigration(to: Model(entities: [unique]), migration(.pass))
        }
        #expect(try state() == before)
    }

    @Test func aClosureThatFailsChangesNothing() throws {
        struct Refused: Error {}
        let before = try state()
        var migration = Migration()
        var count = 0
        migration.convert = { _, _ in
            count += 1
            if count == 10 { throw Refused() }
            return ["new": 1]
        }
        #expect(throws: Refused.self) {
            try test.store.beginMigration(to: Model(entities: [Self.cases[9].entity]), migration)
        }
        #expect(count == 10)
        #expect(try state() == before)
    }
}
