import FetchIndex
import Foundation
import FetchIndexLMDB
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

final class Book: ManagedObject {
    @Attribute("title") var title: String
    @Attribute("publisher") var publisher: String
    @Attribute("price") var price: Int
    @Attribute("released") var released: Date?
}

final class Account: ManagedObject {
    @Attribute("name", isUnique: true) var name: String
    @Attribute("owner") var owner: String?
    @Attribute("balance") var balance: Int

    override func validate() throws { if balance < 0 { throw Overdrawn() } }

    struct Overdrawn: Error, CustomStringConvertible { var description: String { "is overdrawn" } }
}

/// A store in a folder of its own. Its teardown checks the store and its caches, and records defects as an issue.
final class LiveStore {
    let folder = TemporaryFolder()
    let container: PersistentContainer

    init(_ model: Model) throws {
        container = try PersistentContainer(at: URL(fileURLWithPath: folder.path), model: model, durability: .none)
    }

    /// Overwrites every node, or every leaf, of every cache with nonsense.
    func damageNodes(onlyLeaves: Bool = false) throws {
        let writer = try container.store.beginWrite()
        var keys: [UInt64] = []
        try writer.view.walk(writer.tables.nodes, from: 0) { cursor in
            // The level is the second byte.
            if !onlyLeaves || cursor.value.unsafeLoad(fromByteOffset: 1, as: UInt8.self) == 0 {
                keys.append(cursor.integerKey)
            }
            return true
        }
        let nonsense = [UInt8](repeating: 7, count: 100)
        for key in keys { try writer.view.put(nonsense.span.bytes, for: key, in: writer.tables.nodes) }
        try writer.commit()
    }

    func reopened() throws -> PersistentContainer { try PersistentContainer(at: URL(fileURLWithPath: folder.path)) }

    deinit { recordDefects { try container.check { _, _ in } } }
}

/// A delegate that records one line for each event: sections by name, objects by the result of `name`.
final class Recorder<Object: ManagedObject>: FetchedResultsControllerDelegate {
    private(set) var lines: [String] = []
    private let name: (Object) -> String

    init(_ name: @escaping (Object) -> String) { self.name = name }

    /// The lines since the last `take`.
    func take() -> [String] {
        defer { lines = [] }
        return lines
    }

    func controllerWillChangeContent(_ controller: FetchedResultsController<Object>) { lines.append("will change") }

    func controller(
        _ controller: FetchedResultsController<Object>, didChangeSection name: String, at index: Int?,
        for type: ChangeKind, newIndex: Int?
    ) {
        lines.append("section \(name) \(type) \(index.map { "\($0)" } ?? "-") \(newIndex.map { "\($0)" } ?? "-")")
    }

    func controller(
        _ controller: FetchedResultsController<Object>, didChange object: Object, at indexPath: RowPath?,
        for type: ChangeKind, newIndexPath: RowPath?
    ) {
        func text(_ path: RowPath?) -> String { path.map { "\($0.section).\($0.row)" } ?? "-" }
        lines.append("\(name(object)) \(type) \(text(indexPath)) \(text(newIndexPath))")
    }

    func controllerDidChangeContent(_ controller: FetchedResultsController<Object>) { lines.append("did change") }
}

extension FetchedResultsController {
    /// Sections with their rows, objects by the result of `name`.
    func listing(_ name: (Object) -> String) -> [String] {
        sections.map { section in "\(section.name): " + section.objects.map(name).joined(separator: " ") }
    }
}
