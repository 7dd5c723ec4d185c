internal import FaultScript
internal import FetchIndex
internal import Foundation

/// Follows an order by its changes alone, until it is told to stop; then its list must be the order computed anew.
final class LedgerWatcher: FetchedResultsControllerDelegate {
    private let arguments: VictimArguments
    private let stop: StopSign
    private var list: [[ObjectID]] = []
    private var batches = 0

    init(_ arguments: VictimArguments) {
        self.arguments = arguments
        stop = StopSign(arguments)
    }

    func run() throws {
        let container = try PersistentContainer(at: URL(fileURLWithPath: arguments.store))
        let context = container.newContext()
        let controller = try FetchedResultsController(
            fetchRequest: Ledger.accountRequest(), context: context, sectionKey: .attribute("group"),
            cacheName: Ledger.cache)
        controller.delegate = self
        try controller.performFetch()
        list = controller.snapshot.objectIDs
        VictimOutput.line("begun")
        while !stop.isUp {
            try context.mergeChanges()
            usleep(5000)
        }
        // No writer is left by now.
        try context.mergeChanges()
        let anew = try FetchedResultsController(
            fetchRequest: Ledger.accountRequest(), context: context, sectionKey: .attribute("group"))
        try anew.performFetch()
        if list != anew.snapshot.objectIDs { VictimOutput.line("defect the watcher's list is not the order") }
        VictimOutput.line("finished \(batches) \(try context.commit)")
    }

    func controller(
        _ controller: FetchedResultsController<ManagedObject>, didChange change: ResultsChange
    ) {
        batches += 1
        guard let new = change.replay(on: list) else {
            VictimOutput.line("defect a batch does not fit the watcher's list")
            return
        }
        list = new
    }
}
