internal import FetchIndexFaultScript
internal import FetchIndex
internal import Foundation

/// Follows orders by their reported changes, until it's told to stop. Each list must then equal the newly computed
/// order.
struct LedgerWatcher {
    private let arguments: VictimArguments
    private let stop: StopSign

    init(_ arguments: VictimArguments) {
        self.arguments = arguments
        stop = StopSign(arguments)
    }

    func run() throws {
        let container = try PersistentContainer(at: URL(fileURLWithPath: arguments.store))
        var (context, lists) = try followed(in: container)
        VictimOutput.line("begun")
        var isLast = false
        repeat {
            // When the stop file exists, the writers have ended, so the next merge is the last one.
            isLast = stop.isUp
            do { try context.mergeChanges() } catch let error as StoreError {
                // A newer program added a subentity. This requires a new context, once.
                guard case .modelMismatch = error else { throw error }
                (context, lists) = try followed(in: container)
            }
            usleep(5000)
        } while !isLast
        for list in lists { try list.compare() }
        VictimOutput.line("finished \(lists.map(\.batches)) \(try context.commit)")
    }

    private func followed(in container: PersistentContainer) throws -> (ManagedObjectContext, [FollowedList]) {
        let context = container.newContext()
        return (context, try Ledger.orders.map { try FollowedList($0, context) })
    }
}

/// A list that follows one order.
private final class FollowedList: FetchedResultsControllerDelegate {
    private let order: Ledger.Order
    private let context: ManagedObjectContext
    private let controller: FetchedResultsController<ManagedObject>
    private var list: [[ObjectID]] = []
    private(set) var batches = 0

    init(_ order: Ledger.Order, _ context: ManagedObjectContext) throws {
        self.order = order
        self.context = context
        controller = try FetchedResultsController(
            fetchRequest: order.request, context: context, sectionKey: order.sectionKey, cacheName: order.cache)
        controller.delegate = self
        try controller.performFetch()
        list = controller.snapshot.objectIDs
    }

    func compare() throws {
        let anew = try FetchedResultsController(
            fetchRequest: order.request, context: context, sectionKey: order.sectionKey)
        try anew.performFetch()
        if list != anew.snapshot.objectIDs {
            VictimOutput.line("defect the watcher's list \(order.cache) differs from the order")
        }
    }

    func controller(_ controller: FetchedResultsController<ManagedObject>, didChange change: ResultsChange) {
        batches += 1
        guard let new = change.replay(on: list) else {
            return VictimOutput.line("defect a batch does not fit the watcher's list \(order.cache)")
        }
        list = new
    }
}
