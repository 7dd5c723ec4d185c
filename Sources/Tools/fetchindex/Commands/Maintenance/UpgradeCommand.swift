internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexEssentials
internal import ArgumentParser
internal import Synchronization
internal import FetchIndexInspection

struct UpgradeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upgrade",
        abstract: "Convert a store's file to the LMDB that this program uses.",
        discussion: """
            LMDB 0.9 and 1.0 cannot read each other's files. A store of the other version can be read by commands that only \
            read; this command converts it, in either direction, if no process has it open. All values, commits, the change \
            log and caches stay as they are. The pages of the old file are checked before, and the new store is checked as \
            if by `check` before the files are swapped: it may have no defect that the old one lacks. The old file stays as \
            data.mdb.before, and needs its space, until --delete-old. If the command is interrupted, the store is the old \
            one or the new one.

            Example: fetchindex upgrade books.store
            """)

    @OptionGroup var store: StoreArgument
    @Option(
        help: ArgumentHelp(
            "The version that the store must have afterwards: 0.9 or 1.0. A program converts only to the one that it uses.",
            valueName: "version"))
    var to: String?
    @Flag(help: "Delete data.mdb.before, the file from before an earlier upgrade. Converts nothing.")
    var deleteOld = false
    @OptionGroup var output: OutputOption

    func validate() throws {
        if let to, !["0.9", "1.0"].contains(to) { throw ValidationError("--to must be 0.9 or 1.0.") }
        if to != nil, deleteOld { throw ValidationError("--delete-old converts nothing, so it takes no --to.") }
    }

    private struct Report: Encodable {
        let from: String?
        let to: String
        let bytesBefore: Int?
        let bytesAfter: Int?
        let milliseconds: Double
        let defects: [String]
    }

    func run() throws {
        let url = URL(fileURLWithPath: store.store)
        if deleteOld { return try deleteOldFile(of: url) }
        let linked = PersistentContainer.lmdbRelease
        if let to, linked != "LMDB \(to)" {
            throw Failure("this program uses \(linked); convert to LMDB \(to) with one that was built with it")
        }
        let start = ContinuousClock.now
        let bar = ProgressBar("checking the new file")
        defer { bar.finish() }
        let isConverted = Atomic(false)
        let expected = try store.open(forWriting: false).information()
        let upgrade = try CopyProgress.show(
            "converting", PersistentContainer.upgradedFile(inFolder: store.store),
            of: expected.fileBytes - expected.freeBytes,
            until: { isConverted.load(ordering: .relaxed) }
        ) {
            try PersistentContainer.upgrade(
                at: url, converted: { isConverted.store(true, ordering: .relaxed) },
                progress: { bar.show(rows: $0, of: $1) })
        }
        bar.finish()
        let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        if output.isJSON {
            return try Output.jsonLine(
                Report(
                    from: upgrade?.from, to: linked, bytesBefore: upgrade?.bytesBefore, bytesAfter: upgrade?.bytesAfter,
                    milliseconds: milliseconds, defects: upgrade?.defects ?? []))
        }
        guard let upgrade else { return Output.line("the store's file is one of \(linked) already") }
        Output.line(
            "converted from \(upgrade.from) to \(upgrade.to): \(Numbers.bytes(upgrade.bytesBefore)) before, "
                + "\(Numbers.bytes(upgrade.bytesAfter)) after, in \(Numbers.duration(milliseconds: milliseconds)); "
                + "the old file is data.mdb.before, which --delete-old deletes")
        if !upgrade.defects.isEmpty {
            let defects = Numbers.count(upgrade.defects.count, "defect")
            Output.error("the store has \(defects), as before: `fetchindex check` lists them")
        }
    }

    private func deleteOldFile(of url: URL) throws {
        let bytes = try PersistentContainer.deleteOldFile(at: url)
        if output.isJSON { return try Output.jsonLine(["deletedBytes": bytes]) }
        Output.line(bytes.map { "deleted data.mdb.before, \(Numbers.bytes($0))" } ?? "there is no data.mdb.before")
    }
}
