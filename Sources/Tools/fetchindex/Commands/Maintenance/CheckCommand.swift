internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexEssentials
internal import ArgumentParser
internal import FetchIndexInspection

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check every structure of a store, and list defects; the exit code is 1 if there are any.",
        discussion: """
            --repair rebuilds what can be computed from the records: unique keys, links, counters, zones and caches. A \
            damaged cache whose request is unknown to this program is deleted. If commits in the change log are \
            damaged, the log is trimmed through the last of them. Records are changed or deleted only if they refer to \
            objects that are missing or of a wrong entity. Damaged records are listed, and must be restored from a \
            backup. If pages of the file can't be read, or checksums of pages with records are wrong, nothing is \
            repaired. The exit code is 0 if no defect is left.

            Example: fetchindex check books.store
            """)

    @OptionGroup var store: StoreArgument
    @Flag(help: "Repair what can be computed from the records, and check again.") var repair = false
    @OptionGroup var output: OutputOption

    func run() throws {
        let bar = ProgressBar(repair ? "checking and repairing" : "checking")
        defer { bar.finish() }
        if repair {
            let repair = try PersistentContainer.repair(at: URL(fileURLWithPath: store.store)) {
                bar.show(rows: $0, of: $1)
            }
            bar.finish()
            try report(repair)
            if !repair.left.isEmpty { throw Failure() }
        } else {
            let defects = try PersistentContainer.check(at: store.store) {
                try store.open(forWriting: false, ignoringPageChecksums: true)
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
