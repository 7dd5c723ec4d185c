internal import FetchIndexFaultScript
internal import FetchIndex
internal import Foundation

/// Reads states until it's told to stop, and prints the commit and digest of each state.
struct LedgerReader {
    private let arguments: VictimArguments
    private let stop: StopSign

    init(_ arguments: VictimArguments) {
        self.arguments = arguments
        stop = StopSign(arguments)
    }

    func run() throws {
        let container = try PersistentContainer(at: URL(fileURLWithPath: arguments.store))
        let context = container.newContext()
        while !stop.isUp {
            try context.mergeChanges()
            let state = try LedgerState(context)
            if let defect = state.defect { VictimOutput.line("defect \(defect)") }
            VictimOutput.line("read \(state.commit) \(state.digest)")
            usleep(1000)
        }
        VictimOutput.line("finished")
    }
}
