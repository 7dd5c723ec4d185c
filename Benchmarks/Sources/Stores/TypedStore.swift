public import FetchIndex
public import Foundation

/// A store whose rows have a UUID, the same UUID as a text, a decimal and a URL. It stays in a folder between runs.
public struct TypedStore: Sendable {
    public let rows: Int
    private let folder: URL

    public init() {
        rows = isBrief ? 50_000 : 200_000
        folder = Stores.dataFolder.appendingPathComponent("typed-\(rows)")
    }

    public static func uuid(_ row: Int) -> UUID {
        UUID(uuidString: "00000000-0000-4000-8000-" + String(format: "%012x", row * 2_654_435_761 % 0xFFFF_FFFF))!
    }

    public func container() throws -> PersistentContainer {
        try PersistentContainer(at: folder.appendingPathComponent("store"), durability: .none)
    }

    /// Copies the store to a folder, so that it can be changed, and opens the copy.
    public func copy(in scratch: URL) throws -> PersistentContainer {
        let copy = scratch.appendingPathComponent("store")
        try FileManager.default.copyItem(at: folder.appendingPathComponent("store"), to: copy)
        return try PersistentContainer(at: copy, durability: .none)
    }

    /// Makes the store unless it exists.
    public func prepare() throws {
        if FileManager.default.fileExists(atPath: folder.path) { return }
        let unfinished = try Stores.scratch()
        try write(in: unfinished)
        try FileManager.default.moveItem(at: unfinished, to: folder)
    }

    private func write(in folder: URL) throws {
        let attributes = [
            AttributeDescription("uuid", .uuid), AttributeDescription("decimal", .decimal),
            AttributeDescription("url", .url), AttributeDescription("text", .string),
        ]
        let container = try PersistentContainer(
            at: folder.appendingPathComponent("store"), model: Model(entities: [Entity("Typed", attributes)]),
            durability: .none)
        let values: [[Value]] = (0..<rows).map { row in
            let uuid = Self.uuid(row)
            return [
                .uuid(uuid), .decimal(Decimal(row) / 100), .url(URL(string: "https://example.org/\(row)")!),
                .string(uuid.uuidString),
            ]
        }
        try container.newContext().execute(BatchInsertRequest(entityName: "Typed", rows: values))
    }
}
