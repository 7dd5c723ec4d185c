import FetchIndex
import FetchIndexPlatform
import FetchIndexLMDB
import Foundation
import FetchIndexModels
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// Caches of orders with sections by related object: damaged, behind and maintained caches, and changed models.
@Suite struct SectionObjectCacheTests {
    private let store: LiveStore
    private let context: ManagedObjectContext
    private var container: PersistentContainer { store.container }

    private static let definition = OrderDefinition(
        entity: "Novel", sortKeys: [SortKey("writer.name"), SortKey("title")],
        sectionKey: .relationship("writer", name: "name"))

    /// Forty writers with two novels each.
    init() throws {
        store = try LiveStore(.library)
        context = store.container.newContext()
        for number in 10..<50 {
            let writer = context.writer("writer \(number)")
            for index in 0..<2 { _ = context.novel("novel \(number) \(index)", by: writer) }
        }
        try context.save()
    }

    private func open(
        _ name: String? = "writers", _ definition: OrderDefinition = definition
    ) throws -> (sections: [String], outcome: FetchOutcome) {
        try container.withOrder(definition, PersistentContainer.OrderOptions(cacheName: name)) { order in
            var sections: [String] = []
            try order.forEachSection { section in
                sections.append("\(section.name) \(section.objectID?.number ?? 0) \(section.count)")
                return true
            }
            try order.forEachRow { row in sections.append("\(try row.value(of: "title"))") }
            return (sections, order.outcome)
        }
    }

    private func rename(_ name: String, to new: String) throws {
        let writer = try context.fetch(FetchRequest<Writer>(sortKeys: [])).first { $0.name == name }
        try #require(writer).name = new
        try context.save()
    }

    /// Flips one bit at a time, in nine or more bytes of each node: `verifyCache` must report each. Then flips a bit of
    /// a node before an update: the cache must still give the right sections.
    @Test func aFlippedBitOfANodeIsReportedAndDoesNotChangeResults() throws {
        let expected = try open().sections
        var nodes: [(key: UInt64, bytes: [UInt8])] = []
        let snapshot = try container.store.snapshot()
        try snapshot.view.forEachEntry(in: snapshot.tables.nodes) { cursor in
            nodes.append((cursor.integerKey, [UInt8](copying: cursor.value)))
        }
        #expect(nodes.count >= 3)
        func write(_ bytes: [UInt8], _ key: UInt64) throws {
            let writer = try container.store.beginWrite()
            try writer.view.put(bytes.span.bytes, for: key, in: writer.tables.nodes)
            try writer.commit()
        }
        for (key, bytes) in nodes {
            for place in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 9)) {
                var damaged = bytes
                damaged[place] ^= 0x04
                try write(damaged, key)
                #expect(try container.verifyCache("writers") != [], "node \(key), byte \(place)")
                try write(bytes, key)
            }
        }
        // Reading sections and rows doesn't read the headings, but an update does.
        for round in 0..<nodes.count {
            let (key, bytes) = nodes[round]
            try container.deleteCache(named: "writers")
            _ = try open()
            var current: [UInt8] = []
            var keys: [UInt64] = []
            let now = try container.store.snapshot()
            try now.view.forEachEntry(in: now.tables.nodes) { keys.append($0.integerKey) }
            let node = keys[min(round, keys.count - 1)]
            _ = try now.view.get(node, in: now.tables.nodes) { current = [UInt8](copying: $0) }
            current[current.count / 2] ^= 0x40
            try write(current, node)
            try rename("writer 20", to: "writer 99")
            #expect(try open().sections == open(nil).sections, "node \(key) of \(bytes.count) bytes")
            try rename("writer 99", to: "writer 20")
            #expect(try open().sections == expected)
            #expect(try container.verifyCache("writers") == [])
        }
    }

    @Test func aCacheCatchesUpWithManyRenamedSectionsInOneStep() throws {
        _ = try open()
        for number in stride(from: 10, to: 50, by: 3) { try rename("writer \(number)", to: "x \(60 - number)") }
        let (sections, outcome) = try open()
        guard case .caughtUp(let change) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(change.rows.isEmpty && change.sections.count >= 14)
        #expect(sections == (try open(nil).sections))
        #expect(try container.verifyCache("writers") == [])
    }

    @Test func aMaintainedCacheFollowsRenamedSections() throws {
        _ = try open()
        try container.setMaintained(true, cacheNamed: "writers")
        try rename("writer 30", to: "a")
        let (sections, outcome) = try open()
        #expect(outcome == .hit && sections.first?.hasPrefix("a ") == true)
        #expect(try container.verifyCache("writers") == [])
    }

    /// A renamed relationship or attribute leaves the cache valid.
    @Test func aRenamedKeyPathKeepsTheCache() throws {
        let expected = try open().sections
        let aggregated = OrderDefinition(entity: "Writer", sortKeys: [SortKey("novels.@max.price"), SortKey("name")])
        let writers = try container.withOrder(aggregated, PersistentContainer.OrderOptions(cacheName: "max")) {
            $0.rowCount
        }
        let model = try container.model()
        let entities = model.entities.map { entity -> Entity in
            switch entity.name {
            case "Writer":
                return Entity(
                    "Writer",
                    [AttributeDescription("penName", .string, isOptional: false, isUnique: true, renamedFrom: "name")],
                    relationships: entity.relationships.map {
                        $0.name == "novels" ? RelationshipDescription("novels", toMany: "Novel", inverse: "by") : $0
                    })
            case "Novel":
                let attributes = entity.attributes.map {
                    $0.name == "price"
                        ? AttributeDescription(
                            "cost", .integer, isOptional: $0.isOptional, defaultValue: $0.defaultValue,
                            renamedFrom: "price")
                        : $0
                }
                return Entity(
                    "Novel", attributes,
                    relationships: entity.relationships.map {
                        $0.name == "writer"
                            ? RelationshipDescription("by", toOne: "Writer", inverse: "novels", renamedFrom: "writer")
                            : $0
                    })
            default: return entity
            }
        }
        try container.migrate(to: Model(entities: entities))
        let renamed = OrderDefinition(
            entity: "Novel", sortKeys: [SortKey("by.penName"), SortKey("title")],
            sectionKey: .relationship("by", name: "penName"))
        let (sections, outcome) = try open("writers", renamed)
        #expect(sections == expected && outcome == .hit)
        let again = OrderDefinition(entity: "Writer", sortKeys: [SortKey("novels.@max.cost"), SortKey("penName")])
        let kept = try container.withOrder(again, PersistentContainer.OrderOptions(cacheName: "max")) {
            ($0.rowCount, $0.outcome)
        }
        #expect(kept == (writers, .hit))
        #expect(try container.verifyCache("writers") == [] && container.verifyCache("max") == [])
    }

    /// The record of the object at the path's end is older than the attribute, so it lacks the default value.
    @Test func settingAnAddedAttributeToNullMovesTheRowsOfTheObject() throws {
        let folder = TemporaryFolder()
        func open(adding added: [AttributeDescription]) throws -> PersistentContainer {
            let name = AttributeDescription("name", .string)
            let team = Entity(
                "Team", [name] + added,
                relationships: [RelationshipDescription("players", toMany: "Player", inverse: "team")])
            let player = Entity(
                "Player", [name], relationships: [RelationshipDescription("team", toOne: "Team", inverse: "players")])
            return try PersistentContainer(
                at: URL(fileURLWithPath: folder.path), model: Model(entities: [team, player]),
                migration: .freeChanges, durability: .none)
        }
        do {
            let context = try open(adding: []).newContext()
            for name in ["a", "b"] {
                let (team, player) = (try context.insert("Team"), try context.insert("Player"))
                (team["name"], player["name"]) = (.string(name), .string(name))
                player.relate("team", to: team)
            }
            try context.save()
        }
        let container = try open(adding: [AttributeDescription("rank", .integer, defaultValue: .integer(5))])
        let definition = OrderDefinition(entity: "Player", sortKeys: [SortKey("team.rank"), SortKey("name")])
        func numbers() throws -> [UInt64] {
            try container.withOrder(definition, PersistentContainer.OrderOptions(cacheName: "by rank")) { order in
                var numbers: [UInt64] = []
                try order.forEachRow { numbers.append($0.id.number) }
                return numbers
            }
        }
        #expect(try numbers() == [1, 2])
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Team")
        request.predicate = try FetchPredicate("name == 'b'")
        try #require(try context.fetch(request).first)["rank"] = .null
        try context.save()
        #expect(try numbers() == [2, 1])
        #expect(try container.verifyCache("by rank") == [])
    }

    /// The object of a section is deleted, and its delete rule `noAction` leaves the references to it.
    @Test func rowsWithADanglingReferenceAreInTheSectionWithoutAnObject() throws {
        let model = Model(entities: [
            Entity(
                "Team", [AttributeDescription("name", .string)],
                relationships: [
                    RelationshipDescription("players", toMany: "Player", inverse: "team", deleteRule: .noAction)
                ]),
            Entity(
                "Player", [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("team", toOne: "Team", inverse: "players")]),
            Entity(
                "Prize", [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("player", toOne: "Player")]),
        ])
        let container = try PersistentContainer(temporaryWith: model)
        let context = container.newContext()
        let teams = try ["a", "b"].map { name in
            let team = try context.insert("Team")
            team["name"] = .string(name)
            return team
        }
        for number in 0..<4 {
            let player = try context.insert("Player")
            player["name"] = .string("\(number)")
            player.relate("team", to: teams[number % 2])
            let prize = try context.insert("Prize")
            prize["name"] = .string("\(number)")
            prize.relate("player", to: player)
        }
        try context.save()
        var definition = OrderDefinition(entity: "Prize", sortKeys: [SortKey("name")])
        definition.sectionKey = .relationship("player.team", name: "name")
        func names() throws -> [String] {
            try container.withOrder(definition, PersistentContainer.OrderOptions(cacheName: "teams")) { order in
                try (0..<order.sectionCount).map { try order.section(at: $0).name }
            }
        }
        #expect(try names() == ["a", "b"])
        let gone = teams[0].objectID
        context.delete(teams[0])
        try context.save()
        #expect(try names() == ["", "b"])
        #expect(try container.verifyCache("teams") == [])
        // Fetches by the deleted object's id still find the rows.
        var request = FetchRequest<ManagedObject>(entityName: "Prize")
        request.predicate = try FetchPredicate("player.team == %@", gone)
        #expect(try context.fetch(request).count == 2)
        request.predicate = try FetchPredicate("player.team == %@ AND name != ''", gone)
        #expect(try context.fetch(request).count == 2)
    }
}
