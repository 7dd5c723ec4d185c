internal import ArgumentParser
internal import FetchIndexCLibrary
internal import FetchIndexPlatform

/// The options for importing a store of Core Data.
struct CoreDataOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "For a store of Core Data that doesn't contain its model: the app's model, such as App.xcdatamodeld.",
            valueName: "file"), completion: .file())
    var model: String?
    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "An entity of a store of Core Data to leave out, with its subentities; may be repeated.",
            valueName: "entity"))
    var without: [String] = []
    @Flag(help: "Print what would be taken over from a store of Core Data, and what not, and write nothing.")
    var plan = false
    @Flag(help: "Refuse a store of Core Data if anything of it can't be taken over.") var strict = false
    @Flag(help: "Take a store of Core Data with another identifier as a later copy of the imported one.")
    var sameIdentity = false
    @Flag(help: "Read as many objects as possible of a damaged store of Core Data.") var salvage = false

    @Flag(
        help:
            "Make archived values of a store of Core Data, as far as they are lists, dictionaries, texts and numbers, texts of JSON."
    )
    var decode = false

    @Flag(help: "Read all objects of a store of Core Data, also if its history says which have changed.")
    var readAll = false

    private var flags: [(name: String, isOn: Bool)] {
        [
            ("plan", plan), ("strict", strict), ("same-identity", sameIdentity), ("salvage", salvage),
            ("decode", decode),
            ("read-all", readAll),
        ]
    }

    var isEmpty: Bool { model == nil && without.isEmpty && !flags.contains(where: \.isOn) }

    /// The name of a table that every store of Core Data has.
    private static let table = "Z_PRIMARYKEY"

    /// Whether a file is a store of Core Data, whatever its name. The database isn't opened, because that would write
    /// files beside it.
    static func isStore(_ path: String) -> Bool { SQLiteSchema(path)?.contains(table) ?? false }

    /// Why a file cannot be told to be a store of Core Data: a database without tables, whose log is missing.
    static func isWithoutLog(_ path: String) -> Bool { SQLiteSchema(path)?.lacksLog ?? false }

    /// Whether a path leads to a regular file. Opening a pipe to look at it would make its writer fail.
    static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Replaces this process by the program that imports stores of Core Data.
    func run(
        _ store: String, _ file: String, entities: [String], replaceLimit: Int, isJSON: Bool, ifChanged: Bool
    ) throws -> Never {
        var arguments = ["import"] + (model.map { ["--model=\($0)"] } ?? [])
        arguments += entities.map { "--entity=\($0)" } + without.map { "--without=\($0)" }
        arguments += ["--replace-limit=\(replaceLimit)"]
        arguments += (flags + [("json", isJSON), ("if-changed", ifChanged)]).filter(\.isOn).map { "--" + $0.name }
        try CompanionProgram(name: "fetchindex-coredata", purpose: "the program that reads files of Core Data").run(
            arguments + ["--", store, file])
    }
}
