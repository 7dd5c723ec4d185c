internal import Administration
internal import ArgumentParser
internal import FetchIndex

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check every structure of a store; exit 1 with a list of defects.",
        discussion: """
            --repair mends what the records tell: unique keys, counters and caches are made anew, and the log is cut \
            behind damage. Records are never touched: damaged ones are listed, and a back-up has them whole. Exit 0 when \
            nothing is left.
            """)

    @OptionGroup var store: StoreArgument
    @Flag(help: "Mend what can be mended without touching records, and check again.") var repair = false
    @OptionGroup var output: OutputOption

    func run() throws {
        let bar = ProgressBar(repair ? "checking and mending" : "checking")
        defer { bar.finish() }
        if repair {
            let repair = try PersistentContainer.repair(at: store.store) { bar.show(rows: $0, of: $1) }
            bar.finish()
            try report(repair)
            if !repair.left.isEmpty { throw Failure() }
        } else {
            let defects = try PersistentContainer.check(at: store.store) {
                try store.open(forWriting: false)
            } progress: {
                bar.show(rows: $0, of: $1)
            }
            bar.finish()
            try report(defects)
            if !defects.isEmpty { throw Failure() }
        }
    }

    private func report(_ defects: [String]) throws {
        if output.isJSON { return try Output.jsonLine(["defects": defects]) }
        list("has", defects)
    }

    private func report(_ repair: StoreRepair) throws {
        if output.isJSON { return try Output.jsonLine(repair) }
        if repair.defects.isEmpty { return list("has", []) }
        list("had", repair.defects)
        Output.line("\(Numbers.count(repair.repairs.count, "repair")):")
        for sentence in repair.repairs { Output.line("  \(sentence.visible)") }
        list("still has", repair.left)
    }

    private func list(_ verb: String, _ defects: [String]) {
        Output.line(
            defects.isEmpty ? "the store is whole" : "the store \(verb) \(Numbers.count(defects.count, "defect"))")
        for defect in defects { Output.line("  \(defect.visible)") }
    }
}
