internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexCatalogues
internal import FetchIndexModels
internal import ArgumentParser
internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import FetchIndexInspection

struct FetchIndexTool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetchindex",
        abstract: "Sectioned fetches over large catalogues, with named caches that catch up with changes.",
        discussion: """
            STORE is a folder. `fetchindex help COMMAND` explains a command, with an example; most take --output json. \
            Exit codes: 0 done; 1 the data, a check or the system; 2 wrong usage; 3 nothing changed, with --if-changed; \
            4 an outcome that --require doesn't accept.
            """,
        version: LibraryVersions.current.description,
        groupedSubcommands: [
            CommandGroup(
                name: "Load",
                subcommands: [ImportCommand.self, ApplyCommand.self, FollowCommand.self, ExportCommand.self]),
            CommandGroup(
                name: "Fetch",
                subcommands: [
                    FetchCommand.self, ChangesCommand.self, WatchCommand.self, BookmarkCommand.self, RankCommand.self,
                    DiffCommand.self,
                ]),
            CommandGroup(name: "Cache", subcommands: [CacheCommand.self, RefreshCommand.self]),
            CommandGroup(name: "Model", subcommands: [ModelCommand.self]),
            CommandGroup(
                name: "Inspection", subcommands: [InfoCommand.self, ReportCommand.self, BrowseCommand.self]),
            CommandGroup(
                name: "Maintenance",
                subcommands: [CheckCommand.self, BackupCommand.self, CompactCommand.self, UpgradeCommand.self]),
        ])
}

/// Exit codes: 0 done; 2 wrong usage; 3 nothing changed, with `--if-changed`; 4 `--require` doesn't accept the outcome;
/// 1 other errors, such as a failed check.
@main
enum Main {
    // `main` isn't async, because Swift's task runtime opens descriptors, and may end the process if none is free.
    static func main() {
        // Opens standard descriptors that are closed. Otherwise the next file to be opened could get such a descriptor,
        // and output would be written into that file.
        Descriptors.openMissingStandard()
        // If a reader closes the pipe, SIGPIPE ends the process without an error message.
        signal(SIGPIPE, SIG_DFL)
        // If SIGXFSZ is ignored, a write beyond the file size limit fails with an error, like a write to a full disk.
        signal(SIGXFSZ, SIG_IGN)
        let ending = [SIGINT, SIGTERM, SIGHUP, SIGPIPE]
        UnfinishedFiles.areRemoved(by: ending)
        Signals.unblock(ending)
        do {
            try requireUTF8()
            var command = try FetchIndexTool.parseAsRoot()
            try command.run()
            try Output.flush()
        } catch {
            // Prints the output from before the error. If that fails too, the first error is reported.
            try? Output.flush()
            exit(report(error))
        }
    }

    /// Rejects arguments that aren't UTF-8: Swift would silently repair them, and a path would name another file.
    private static func requireUTF8() throws {
        for index in 0..<Int(CommandLine.argc) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            if String(validatingCString: argument) == nil {
                throw ValidationError("Argument \(index), \"\(String(cString: argument).visible)\", is not UTF-8.")
            }
        }
    }

    private static func report(_ error: any Error) -> Int32 {
        if error is NothingChanged { return 3 }
        if let error = error as? OtherOutcome {
            Output.error("\(error)")
            return 4
        }
        if let error = error as? MalformedPredicate {
            Output.errorLines("fetchindex: \(error)")
            return 2
        }
        if isUsageError(error) {
            Output.error("\(error)\(advice(on: error))")
            return 2
        }
        return FetchIndexTool.report(error, advice: advice(on: error))
    }

    /// Returns advice to append to the message of an error: the command or option that helps; "" if none is known.
    private static func advice(on error: any Error) -> String {
        switch publicError(error) {
        case CacheError.invalidName(let name) where PersistentContainer.isIndex(name):
            ": `fetchindex model index` adds and drops indexes"
        case StoreError.modelMismatch: "; `fetchindex model migrate` changes the model of a store"
        case StoreError.otherLMDBVersion: "; `fetchindex upgrade` converts it"
        case StoreCopyError.oldFileExists: "; `fetchindex upgrade --delete-old` deletes it"
        default: ImportRemedy.advice(on: error)
        }
    }

    /// Whether an error is one of usage, such as an unknown name, and not of the data.
    private static func isUsageError(_ error: any Error) -> Bool {
        switch publicError(error) {
        case StoreError.unknownEntity, StoreError.unknownAttribute, StoreError.invalidBookmarkName,
            StoreError.unknownBookmark:
            true
        case is CacheError, is FetchPredicateError, is RequestError, is ContextError, is UnknownLocale,
            is UnknownTimeZone, is UnusableCalendar:
            true
        default: false
        }
    }
}
