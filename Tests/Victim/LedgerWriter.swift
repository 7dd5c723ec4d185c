internal import FetchIndexFaultScript
internal import FetchIndex
internal import Foundation
internal import FetchIndexTestSupport

/// Makes transfers until it's told to stop. Instead of a transfer that conflicts with another writer's, it makes
/// another one. Acknowledges each saved transfer by a line with its commit, digest and entry.
struct LedgerWriter {
    private let arguments: VictimArguments
    private let stop: StopSign

    init(_ arguments: VictimArguments) {
        self.arguments = arguments
        stop = StopSign(arguments)
    }

    private var isNewer: Bool { arguments["model"] == "newer" }

    func run() throws {
        let container = try PersistentContainer(
            at: URL(fileURLWithPath: arguments.store), model: isNewer ? Ledger.newerModel : Ledger.model,
            durability: arguments.durability)
        let name = arguments["name"] ?? "writer"
        var generator = SeededGenerator(seed: arguments.seed)
        let context = container.newContext()
        var number = 0
        var conflicts = 0
        while !stop.isUp {
            do {
                try transfer(named: "\(name) \(number)", in: context, &generator)
            } catch is MergeConflicts {
                conflicts += 1
                try context.rollback()
                try context.mergeChanges()
                continue
            }
            // The context is at the commit of its own save.
            let state = try LedgerState(context)
            if let defect = state.defect { VictimOutput.line("defect \(defect)") }
            VictimOutput.line("saved \(state.commit) \(state.digest) \(name) \(number)")
            number += 1
        }
        VictimOutput.line("finished \(number) \(conflicts)")
    }

    private func transfer(
        named name: String, in context: ManagedObjectContext, _ generator: inout SeededGenerator
    ) throws {
        let from = Int.random(in: 0..<Ledger.accounts, using: &generator)
        let to = (from + Int.random(in: 1..<Ledger.accounts, using: &generator)) % Ledger.accounts
        let amount = Int64.random(in: 1...50, using: &generator)
        let payer = try add(-amount, to: "balance", of: "account \(from)", "Account", in: context)
        let payee = try add(amount, to: "balance", of: "account \(to)", "Account", in: context)
        let counter = Int.random(in: 0..<Ledger.counters, using: &generator)
        _ = try add(1, to: "count", of: "counter \(counter)", "Counter", in: context)
        let entry = try context.insert(isNewer ? "Transfer" : "Entry")
        entry["name"] = .string(name)
        entry["amount"] = .integer(amount)
        entry.relate("from", to: payer)
        entry.relate("to", to: payee)
        payer.relatedObjects("partners").insert(payee)
        try context.save()
    }

    private func add(
        _ amount: Int64, to attribute: String, of name: String, _ entity: String, in context: ManagedObjectContext
    ) throws -> ManagedObject {
        var request = FetchRequest<ManagedObject>(entityName: entity)
        request.predicate = try FetchPredicate("name == %@", name)
        guard let object = try context.fetch(request).first else {
            throw VictimArguments.Wrong(text: "\(name) is missing")
        }
        object[attribute] = .integer(object[attribute].integerOrZero + amount)
        return object
    }
}
