import Catalogue
public import FetchIndex
public import Foundation

/// A context with objects to change, with or without a live controller.
public final class LiveScene {
    public let context: ManagedObjectContext
    public let controller: FetchedResultsController<ManagedObject>?
    private var catalogue: Catalogue
    private let objects: [ManagedObject]
    private let counter = Counter()

    /// Counts the reported rows.
    private final class Counter: FetchedResultsControllerDelegate {
        var rows = 0
        func controller(
            _ controller: FetchedResultsController<ManagedObject>, didChange object: ManagedObject,
            at indexPath: RowPath?, for type: ChangeKind, newIndexPath: RowPath?
        ) { rows += 1 }
    }

    /// Opens the store, or the copy of it at `copy`. The seed determines the new values.
    public init(
        _ stores: Stores, at copy: URL? = nil, hasController: Bool, durability: Durability = .none,
        seed: UInt64 = UInt64(Date().timeIntervalSince1970 * 1000)
    ) throws {
        catalogue = Catalogue(seed: seed)
        let container =
            try copy.map { try PersistentContainer(at: $0, durability: durability) }
            ?? stores.container(durability: durability)
        // All rows are read once, so that disk reads aren't measured. The peer reads its whole index each time anyway.
        try container.withOrder(stores.definition, Stores.options()) { order in
            try order.forEachRow { row in _ = try row.value(at: 0) }
        }
        context = container.newContext()
        controller = hasController ? try stores.controller(context) : nil
        controller?.delegate = counter
        try controller?.performFetch()
        var catalogue = Catalogue(seed: 11)
        let context = context
        let numbers = Set((0..<4000).map { _ in UInt64(1 + catalogue.int(stores.rows)) }).sorted()
        objects = try numbers.map {
            try context.existingObject(with: context.objectID(of: "Package", number: $0))
        }
    }

    public struct Change {
        let object: ManagedObject
        let attribute: String
        let value: Value
    }

    /// Makes changes of different rows. Each change sets a random one of the seven attributes to a random value, which
    /// the row may already have. The order depends on two of the attributes.
    public func changes(_ count: Int) -> [Change] {
        let first = catalogue.int(objects.count)
        return (0..<count).map { index in
            let row = Stores.values(catalogue.next())
            let slot = catalogue.int(row.count)
            return Change(
                object: objects[(first + index) % objects.count], attribute: Catalogue.columns[slot], value: row[slot])
        }
    }

    /// Makes a change of a row's name, which usually moves the row. The name differs from all names that the scene has
    /// set before, because it contains the catalogue's running number.
    public func renaming() -> Change {
        Change(object: objects[catalogue.int(objects.count)], attribute: "name", value: .string(catalogue.next().name))
    }

    public func edit(_ changes: [Change]) { for change in changes { change.object[change.attribute] = change.value } }

    /// Ends the process if there is a controller that has reported fewer rows than expected since the last call.
    public func requireReport(of rows: Int) {
        guard controller == nil || counter.rows >= rows else {
            fatalError("\(counter.rows) of \(rows) rows were reported")
        }
        counter.rows = 0
    }
}
