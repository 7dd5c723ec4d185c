internal import FetchIndex
internal import FetchIndexCatalogues
internal import FetchIndexModels
internal import ArgumentParser
internal import FetchIndexCLibrary
internal import FetchIndexCatalogues
internal import FetchIndexPlatform
internal import FetchIndexInspection

struct FetchIndexTool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetchindex",
        abstract: "Sectioned fetches over large catalogues, with named caches that stay current.",
        subcommands: [
            ImportCommand.self, ExportCommand.self, FetchCommand.self, ApplyCommand.self, ChangesCommand.self,
            WatchCommand.self, FollowCommand.self, RefreshCommand.self,
            CacheCommand.self, ModelCommand.self, InfoCommand.self, ReportCommand.self, BrowseCommand.self,
            CheckCommand.self,
            BackupCommand.self,
            CompactCommand.self,
        ])
}

/// Exit codes: 0 done, 1 the data or a check failed, 2 wrong usage, 4 the outcome isn't one that --require accepts.
@main
enum Main {
    // `main` isn't async: the task runtime opens descriptors, and ends the process if none is free.
    static func main() {
        // Opens closed standard descriptors, so that no other file gets them and output to them fails.
        Descriptors.openMissingStandard()
        // A reader that closes the pipe ends the process; that isn't reported as an error.
        signal(SIGPIPE, SIG_DFL)
        // A file size limit is reported as an error, like a full disk.
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
            // Output from before the error is printed. If that fails too, the first error is still the one to report.
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
        if let failure = error as? Failure {
            if !failure.sentence.isEmpty { Output.error(failure.sentence) }
            return 1
        }
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
        switch FetchIndexTool.exitCode(for: error) {
        case .success:
            Output.write(FetchIndexTool.fullMessage(for: error) + "\n")
            do { try Output.flush() } catch { return report(error) }
            return 0
        case .validationFailure:
            Output.errorLines("fetchindex: " + FetchIndexTool.message(for: error))
            return 2
        default:
            Output.error("\(error)\(advice(on: error))")
            return 1
        }
    }

    /// Returns advice to append to an error message: the command that helps. It is empty for other errors.
    private static func advice(on error: any Error) -> String {
        switch publicError(error) {
        case StoreError.invalidCacheName(let name) where PersistentContainer.isIndex(name):
            ": `fetchindex model index` adds and drops these"
        case StoreError.modelMismatch: "; `fetchindex model migrate` changes the model of a store"
        default: ImportRemedy.advice(on: error)
        }
    }

    /// Whether the usage is wrong, and not the data.
    private static func isUsageError(_ error: any Error) -> Bool {
        switch publicError(error) {
        case StoreError.unknownEntity, StoreError.unknownAttribute, StoreError.invalidCacheName,
            StoreError.unknownCache, StoreError.cacheLocked:
            true
        case is FetchPredicateError, is RequestError, is ContextError, is UnknownLocale,
            is UnknownTimeZone, is UnusableCalendar:
            true
        default: false
        }
    }
}

/// The data or a check failed. The sentence is empty if the defects were printed already.
struct Failure: Error {
    let sentence: String

    init(_ sentence: String = "") { self.sentence = sentence }
}
