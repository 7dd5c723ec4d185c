import FetchIndexLMDB
import FetchIndexPlatform
import Foundation
import FetchIndexRecords
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndex

/// A small store with two entities, every type of value, unique keys, relationships with links, a record of several
/// pages, a log, an index, current caches, and a cache that is behind. Two caches depend on relationships, and one of
/// these is maintained and locked. Tests damage copies of the store.
struct DamageableStore {
    /// An entry in a table of the store's LMDB environment.
    struct Entry {
        let table: String
        let key: [UInt8]
        let value: [UInt8]
    }

    static let tables = ["meta", "records", "log", "unique", "caches", "nodes"]

    static let model = Model(entities: [
        Entity(
            "Everything",
            [
                AttributeDescription("name", .string, isUnique: true),
                AttributeDescription("code", .integer, isUnique: true),
            ]
                + ValueType.allCases.map { AttributeDescription($0.name, $0) },
            relationships: [
                RelationshipDescription("owner", toOne: "Other", inverse: "owned"),
                RelationshipDescription("readers", toMany: "Other", inverse: "read", ordered: true),
            ]),
        Entity(
            "Other", [AttributeDescription("name", .string, isOptional: false, isUnique: true)],
            relationships: [
                RelationshipDescription("owned", toMany: "Everything", inverse: "owner"),
                RelationshipDescription("read", toMany: "Everything", inverse: "readers"),
            ], indexes: [Index(["name:desc"])]),
    ])

    static let fresh = OrderDefinition(
        entity: "Everything", sortKeys: [SortKey("date", .descending), SortKey("string")],
        sectionKey: .attribute("boolean"))
    static let behind = OrderDefinition(entity: "Everything", sortKeys: [SortKey("integer")])
    static let byOwner = OrderDefinition(
        entity: "Everything",
        sortKeys: [SortKey("owner.name", .descending), SortKey("readers.@count"), SortKey("name")],
        sectionKey: .relationship("owner", name: "name"))

    static let caches = [("fresh", fresh), ("behind", behind), ("by owner", byOwner), ("by owner, behind", byOwner)]

    let folder = TemporaryFolder()
    let entries: [Entry]

    init() throws {
        let path = folder.path
        try Self.fill(path)
        entries = try Self.entries(path)
    }

    private static func container(_ path: String, _ model: Model? = nil) throws -> PersistentContainer {
        var options = Store.Options()
        options.durability = .none
        return try PersistentContainer(path: path, model: model, options: options)
    }

    private static func fill(_ path: String) throws {
        let container = try container(path, model)
        let writer = try BatchWriter(container, entity: "Everything", key: "name", author: "first")
        writer.numbersOrigin = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
        for number in 0..<12 { try writer.insert(values(number)) }
        try writer.commit()

        let others = try BatchWriter(container, entity: "Other", author: "others")
        for number in 0..<3 { try others.insert([.string("o\(number)")]) }
        try others.commit()
        for number in [3, 5] {
            let object = try #require(try writer.object(key: .string("n\(number)")))
            try writer.update(object, values(number + 100, name: number))
        }
        if let deleted = try writer.object(key: "n7") { try writer.delete(deleted) }
        try writer.commit()
        try container.withOrder(byOwner, .init(cacheName: "by owner, behind")) { _ in }
        try relate(container)
        try container.withOrder(fresh, .init(cacheName: "fresh")) { _ in }
        try container.withOrder(byOwner, .init(cacheName: "by owner")) { _ in }
        // This also notes the commit that the cache's exact reader has received.
        try container.setMaintained(true, cacheNamed: "by owner")
        try container.setLocked(true, cacheNamed: "by owner")
    }

    private static func relate(_ container: PersistentContainer) throws {
        let context = container.newContext()
        let others = try context.fetch(FetchRequest<ManagedObject>(entityName: "Other"))
        for (number, object) in try context.fetch(FetchRequest<ManagedObject>(entityName: "Everything")).enumerated() {
            if number % 4 > 0 { object.relate("owner", to: others[number % 3]) }
            for reader in 0..<number % 3 { object.relatedObjects("readers").insert(others[(number + reader) % 3]) }
        }
        try context.save()
        others[1]["name"] = "other"
        try context.save()
    }

    private static func values(_ number: Int, name: Int? = nil) -> [Value] {
        let text = number == 2 ? String(repeating: "long 影 ", count: 1500) : "text \(number % 5)"
        return [
            .string("n\(name ?? number)"), .integer(Int64(number * 1000)), .boolean(number % 3 == 0),
            number == 4 ? .null : .integer(Int64(number) - 6), .double(Double(number) / 4),
            .decimal(Decimal(number) / 8),
            .date(Date(timeIntervalSinceReferenceDate: Double(number % 4) * 86_400.5)), .string(text),
            .data(Data([UInt8](repeating: UInt8(number), count: number))),
            Value("E621E1F8-C36C-495A-93FC-0C247A3E6E\(10 + number % 80)", as: .uuid) ?? .null,
            Value("https://example.com/\(number)", as: .url) ?? .null,
        ]
    }

    private static func withTables<Result>(
        _ path: String, _ body: (Environment, [String: Table]) throws -> Result
    ) throws -> Result {
        var options = Environment.Options()
        options.durability = .none
        let environment = try Environment.open(at: path, options: options)
        let opened = try environment.tables(
            tables.map { TableDescription($0, ["records", "nodes"].contains($0) ? .integers : .bytes) },
            creating: false)
        return try body(environment, Dictionary(uniqueKeysWithValues: zip(tables, opened)))
    }

    private static func entries(_ path: String) throws -> [Entry] {
        try withTables(path) { environment, tables in
            let transaction = try environment.beginRead()
            var entries: [Entry] = []
            for (name, table) in tables.sorted(by: { $0.key < $1.key }) {
                try transaction.view.withCursor(on: table) { cursor in
                    var isAtEntry = try cursor.seekToFirst()
                    while isAtEntry {
                        entries.append(
                            Entry(table: name, key: [UInt8](copying: cursor.key), value: [UInt8](copying: cursor.value))
                        )
                        isAtEntry = try cursor.seekToNext()
                    }
                }
            }
            return entries
        }
    }

    /// Copies the store to a new folder, and changes entries of the copy. A change without a value removes the entry.
    func copy(_ changes: [(key: [UInt8], table: String, value: [UInt8]?)] = []) throws -> TemporaryFolder {
        let copy = TemporaryFolder()
        let stateKey = Array("state".utf8)
        try FileManager.default.copyItem(atPath: folder.path, toPath: copy.path)
        try Self.withTables(copy.path) { environment, tables in
            let transaction = try environment.beginWrite()
            for change in changes {
                let table = try #require(tables[change.table])
                let key = change.key
                if let value = change.value {
                    try transaction.view.put(value.span.bytes, for: key.span.bytes, in: table)
                } else {
                    _ = try transaction.view.delete(key.span.bytes, in: table)
                }
            }
            if !changes.contains(where: { $0.key == stateKey }), let meta = tables["meta"] {
                // Encodes the state for this transaction, as a writer does. If this were left out, the store would be
                // refused because of the state, not because of the changes.
                var state: StoreState?
                let key = stateKey
                _ = try transaction.view.get(key.span.bytes, in: meta) { state = try StoreState(decoding: $0) }
                let bytes = try #require(state).encoded(writtenBy: transaction.view)
                try transaction.view.put(bytes.span.bytes, for: key.span.bytes, in: meta)
            }
            try transaction.commit()
        }
        return copy
    }

    static func open(_ folder: TemporaryFolder, withModel: Bool = false) throws -> PersistentContainer {
        try container(folder.path, withModel ? model : nil)
    }
}
