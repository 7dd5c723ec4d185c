internal import ArgumentParser
@preconcurrency internal import FetchIndexCLibrary
internal import FetchIndexCoreDataFiles
internal import FetchIndexEssentials
internal import FetchIndexInspection
internal import FetchIndexPlatform
internal import FetchIndexTerminal

/// The program that `fetchindex` starts to read files of Core Data. It is a separate program, so that `fetchindex` doesn't
/// link their libraries.
struct CoreDataTool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetchindex-coredata", abstract: "Read files of Core Data for fetchindex.",
        subcommands: [ModelCommand.self, ImportCommand.self])
}

/// Prints a model as `ForeignModel` in JSON.
struct ModelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "model", abstract: "Print a model as JSON.")

    @Argument var path: String
    @Option var version: String?

    func run() throws {
        let found = try CoreDataModel(contentsOf: URL(fileURLWithPath: path), version: version)
        try Output.jsonLine(
            ForeignModel(
                found.model, differences: found.differences.map(\.description), classNames: found.classNames))
    }
}

/// Exit codes: 0 done, 2 wrong usage, 3 nothing changed, with `--if-changed`, 1 other errors.
@main
enum Main {
    static func main() {
        Descriptors.openMissingStandard()
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try CoreDataTool.parseAsRoot()
            try command.run()
            try Output.flush()
        } catch {
            fflush(stdout)
            exit(report(error))
        }
    }

    private static func report(_ error: any Error) -> Int32 {
        if error is NothingChanged { return 3 }
        return CoreDataTool.report(error, advice: (error as? CoreDataFileError)?.remedy?.hint ?? "")
    }
}

extension CoreDataFileError.Remedy {
    /// The option of `fetchindex import`, as the end of a sentence.
    fileprivate var hint: String {
        switch self {
        case .model: "; --model App.xcdatamodeld names it"
        case .mostDeleted: "; --replace-limit allows more"
        case .isStrict: "; without --strict it is imported"
        case .hasSameIdentity: "; --same-identity takes it as a later copy"
        case .salvages: "; `fetchindex import --salvage` reads what it can"
        }
    }
}
