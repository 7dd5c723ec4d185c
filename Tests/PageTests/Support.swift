@testable import FetchIndexLMDB
import FetchIndex
import Foundation
import FetchIndexOrderCaches
import FetchIndexRecords
import FetchIndexTestSupport
import FetchIndexValues

/// A small store with many kinds of content: records, some of them on overflow pages; the log; unique keys; links;
/// three caches; and free pages.
struct SampleStore {
    static let model = Model(entities: [
        Entity(
            "Item",
            [
                AttributeDescription("id", .string, isOptional: false, isUnique: true),
                AttributeDescription("group", .string), AttributeDescription("rank", .integer),
                AttributeDescription("text", .string),
            ],
            relationships: [
                RelationshipDescription("owner", toOne: "Owner", inverse: "items"),
                RelationshipDescription("readers", toMany: "Owner", inverse: "read"),
            ]),
        Entity("Empty", [AttributeDescription("name", .string)]),
        Entity(
            "Owner", [AttributeDescription("name", .string)],
            relationships: [
                RelationshipDescription("items", toMany: "Item", inverse: "owner"),
                RelationshipDescription("read", toMany: "Item", inverse: "readers"),
            ]),
    ])

    static let orders: [(name: String, definition: OrderDefinition)] = [
        ("by rank", OrderDefinition(entity: "Item", sortKeys: [SortKey("rank")])),
        (
            "by group",
            OrderDefinition(
                entity: "Item", sortKeys: [SortKey("group"), SortKey("rank")], sectionKey: .attribute("group"))
        ),
        (
            "by owner",
            OrderDefinition(
                entity: "Item", sortKeys: [SortKey("owner.name"), SortKey("readers.@count"), SortKey("rank")],
                sectionKey: .relationship("owner", name: "name"))
        ),
    ]

    /// The store's data file.
    let data: [UInt8]
    /// The data file some commits earlier.
    let earlier: [UInt8]
    let entityNames: [String]

    static let shared = Result { try SampleStore() }

    private init() throws {
        let folder = TemporaryFolder()
        var generator = SeededGenerator(seed: 1)
        earlier = try Self.made(in: folder, &generator)
        data = try Self.data(in: folder)
        entityNames = try Self.open(folder.path).store.snapshot().model.entities.map(\.name)
    }

    /// Makes the store, and returns the data file as it was before the last three rounds of changes.
    private static func made(in folder: TemporaryFolder, _ generator: inout SeededGenerator) throws -> [UInt8] {
        let container = try open(folder.path, creating: true)
        try insert(0..<800, in: container, &generator)
        try relate(container, &generator)
        for (name, definition) in orders { try openOrder(name, definition, in: container) }
        for round in 0..<6 {
            try change(round, in: container, &generator)
            for (name, definition) in orders { try openOrder(name, definition, in: container) }
        }
        let earlier = try data(in: folder)
        for round in 6..<9 { try change(round, in: container, &generator) }
        return earlier
    }

    static func data(in folder: TemporaryFolder) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.path + "/data.mdb")))
    }

    static func open(
        _ path: String, creating: Bool = false, mapSize: Int? = nil, ignoringPageChecksums: Bool = false
    ) throws -> PersistentContainer {
        var options = Store.Options()
        options.ignoresPageChecksums = ignoringPageChecksums
        options.creates = creating
        options.durability = .none
        if let mapSize { options.mapSize = mapSize }
        return try PersistentContainer(path: path, model: creating ? model : nil, options: options)
    }

    static func openOrder(_ name: String, _ definition: OrderDefinition, in container: PersistentContainer) throws {
        try container.withOrder(definition, .init(cacheName: name)) { _ in }
    }

    private static func relate(_ container: PersistentContainer, _ generator: inout SeededGenerator) throws {
        let context = container.newContext()
        let owners = try (0..<9).map { number in
            let owner = try context.insert("Owner")
            owner["name"] = .string("owner \(number)")
            return owner
        }
        for item in try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")) {
            if Int.random(in: 0..<5, using: &generator) > 0 {
                item.relate("owner", to: owners[Int.random(in: 0..<9, using: &generator)])
            }
            if Int.random(in: 0..<5, using: &generator) == 0 {
                item.relatedObjects("readers").insert(owners[Int.random(in: 0..<9, using: &generator)])
            }
        }
        try context.save()
    }

    static func insert(_ ids: Range<Int>, in container: PersistentContainer, _ generator: inout SeededGenerator) throws
    {
        let writer = try BatchWriter(container, entity: "Item", key: "id")
        for id in ids { try writer.insert(values(id, &generator)) }
        try writer.commit()
    }

    /// Makes the values of an item. Every fifteenth text is too long for a page.
    static func values(_ id: Int, _ generator: inout SeededGenerator) -> [Value] {
        let length = id % 15 == 0 ? Int.random(in: 5000...8000, using: &generator) : id % 150
        return [
            .string("item \(id)"), .string("group \(Int.random(in: 0..<12, using: &generator))"),
            .integer(.random(in: 0..<1000, using: &generator)), .string(String(repeating: "本", count: length / 3)),
        ]
    }

    private static func change(_ round: Int, in container: PersistentContainer, _ generator: inout SeededGenerator)
        throws
    {
        let writer = try BatchWriter(container, entity: "Item", key: "id")
        for _ in 0..<20 {
            let id = Int.random(in: 0..<800, using: &generator)
            guard let object = try writer.object(key: .string("item \(id)")) else { continue }
            if id % 7 == 0 { try writer.delete(object) } else { try writer.update(object, values(id, &generator)) }
        }
        for id in 800 + 10 * round..<810 + 10 * round { try writer.insert(values(id, &generator)) }
        try writer.commit()
        let context = container.newContext()
        let owners = try context.fetch(FetchRequest<ManagedObject>(entityName: "Owner"))
        owners[round % owners.count]["name"] = .string("renamed \(round)")
        try context.save()
    }
}

/// A copy of a data file, which a test damages, in a folder of its own.
final class DamagedFile {
    static let pageSize = 4096
    static let headerLength = PageLayout.linked.headerLength
    let folder = TemporaryFolder()
    private let file: FileHandle

    init(_ data: [UInt8]) throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let path = folder.path + "/data.mdb"
        try Data(data).write(to: URL(fileURLWithPath: path))
        guard let file = FileHandle(forUpdatingAtPath: path) else { throw CocoaError(.fileNoSuchFile) }
        self.file = file
    }

    func write(_ bytes: [UInt8], at offset: Int) throws {
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data(bytes))
    }

    func truncate(to length: Int) throws { try file.truncate(atOffset: UInt64(length)) }

    /// The defects that `fetchindex check` finds. A store error while opening counts as a defect.
    func defects() throws -> [String] {
        do {
            return try PersistentContainer.check(at: folder.path) {
                try SampleStore.open(folder.path, ignoringPageChecksums: true)
            } progress: { _, _ in
            }
        } catch let error as StoreError {
            return ["\(error)"]
        }
    }

    /// Walks over the pages of the newest state.
    func walk() throws -> PageWalk {
        guard let file = try DataFile(inFolder: folder.path), let metas = try MetaPage.both(of: file) else {
            throw DataFileError.damaged("data.mdb is missing")
        }
        let length = try file.length()
        let walk = try PageWalk(file, MetaPage.newest(of: metas), fileLength: length)
        try walk.walk(expecting: [])
        return walk
    }
}

/// The fields of a page that begins at an offset in a data file.
extension [UInt8] {
    func flags(ofPageAt start: Int) -> UInt16 { number(at: start + DamagedFile.headerLength - 6, as: UInt16.self) }

    func nodeCount(ofPageAt start: Int) -> Int {
        let lower = PageLayout.linked.base + Int(number(at: start + DamagedFile.headerLength - 4, as: UInt16.self))
        return (lower - DamagedFile.headerLength) / 2
    }

    /// The offset of a node in the data file.
    func node(_ index: Int, ofPageAt start: Int) -> Int {
        let pointer = start + DamagedFile.headerLength + 2 * index
        return start + PageLayout.linked.base + Int(number(at: pointer, as: UInt16.self))
    }
}

extension [UInt8] {
    func page(_ number: Int) -> [UInt8] {
        Array(self[number * DamagedFile.pageSize..<(number + 1) * DamagedFile.pageSize])
    }

    func number<Number: FixedWidthInteger>(at offset: Int, as: Number.Type) -> Number {
        withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) }
    }

    mutating func set<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        Swift.withUnsafeBytes(of: number) { replaceSubrange(offset..<offset + $0.count, with: $0) }
    }
}
