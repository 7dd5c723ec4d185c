internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexEssentials
internal import ArgumentParser
internal import Synchronization
internal import FetchIndexInspection

struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy a store's newest state to a new folder, while others write.",
        discussion: """
            The backup is a store of its own, with caches and change log, and usually without unused pages. Its objects have \
            the same numbers as in the original; numbers that either store assigns later belong to that store alone. To \
            restore the backup, replace the store's folder with it while no process has the store open. The copy is checked, \
            as if by `check`; a damaged copy is moved to FOLDER.damaged, and the exit code is 1. The umask determines who may \
            read the backup.

            Example: fetchindex backup books.store /backups/books-2026-11-29
            """)

    @OptionGroup var store: StoreArgument
    @Argument(help: "The backup's folder: new or empty.") var destination: String
    @OptionGroup var output: OutputOption

    private struct Report: Encodable {
        let commit: UInt64
        let bytes: Int
        let compact: Bool
        let milliseconds: Double
    }

    func run() throws {
        let start = ContinuousClock.now
        let container = try store.open(forWriting: false, ignoringPageChecksums: true)
        let expected = try container.information()
        let backup: StoreBackup
        do {
            let bar = ProgressBar("checking the copy")
            defer { bar.finish() }
            let isCopied = Atomic(false)
            backup = try advisingCheck {
                try CopyProgress.show(
                    "copying", PersistentContainer.copiedFile(inFolder: destination),
                    of: expected.fileBytes - expected.freeBytes,
                    until: { isCopied.load(ordering: .relaxed) }
                ) {
                    try container.checkedBackup(to: URL(fileURLWithPath: destination)) {
                        isCopied.store(true, ordering: .relaxed)
                    } progress: {
                        bar.show(rows: $0, of: $1)
                    }
                }
            }
        }
        let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        for defect in backup.defects { Output.error("the store has a defect: \(defect)") }
        let report = Report(
            commit: backup.commit, bytes: backup.byteCount, compact: backup.isCompact, milliseconds: milliseconds)
        if output.isJSON { return try Output.jsonLine(report) }
        Output.line(
            "commit \(backup.commit), \(Numbers.bytes(backup.byteCount)), in \(Numbers.duration(milliseconds: milliseconds))"
                + (backup.isCompact ? "" : "; not compacted, because some pages are neither used nor free"))
    }
}

struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Rewrite a store's file without unused pages, if no other process has it open.",
        discussion: """
            Processes that open the store wait until the compaction ends. If it is interrupted, the store is unchanged or compact.

            Example: fetchindex compact books.store
            """)

    @OptionGroup var store: StoreArgument
    @OptionGroup var output: OutputOption

    private struct Report: Encodable {
        let bytesBefore: Int
        let bytesAfter: Int
        let milliseconds: Double
    }

    func run() throws {
        let start = ContinuousClock.now
        let path = store.store
        let expected = try store.open(ignoringPageChecksums: true).information()
        let compaction = try advisingCheck {
            try CopyProgress.show(
                "compacting", PersistentContainer.copiedFile(inFolder: path),
                of: expected.fileBytes - expected.freeBytes
            ) { try PersistentContainer.compact(at: URL(fileURLWithPath: path)) }
        }
        let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        for defect in compaction.defects { Output.error("the store had a defect: \(defect)") }
        if output.isJSON {
            return try Output.jsonLine(
                Report(
                    bytesBefore: compaction.bytesBefore, bytesAfter: compaction.bytesAfter, milliseconds: milliseconds))
        }
        Output.line(
            "\(Numbers.bytes(compaction.bytesBefore)) before, \(Numbers.bytes(compaction.bytesAfter)) after, in "
                + Numbers.duration(milliseconds: milliseconds))
    }
}

/// Adds the command that lists all defects to the message of an error of damage.
private func advisingCheck<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as DamagedBackup {
        throw Failure("\(error); `fetchindex check` lists all defects")
    } catch let error as StoreError where error.isDamage {
        throw Failure("\(error); `fetchindex check` lists all defects")
    }
}
