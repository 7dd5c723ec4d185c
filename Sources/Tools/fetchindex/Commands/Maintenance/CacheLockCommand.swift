internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexInspection

struct CacheLockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock", abstract: "Let no other request replace a cache, and nobody delete it.",
        discussion: """
            A fetch with another request under its name, and its deletion, are errors from then on. It is caught up as before, and \
            rebuilt for the request that it is of.
            """)

    @OptionGroup var store: StoreArgument
    @Argument(help: "The cache's name.") var name: String
    @OptionGroup var output: OutputOption

    func run() throws {
        try store.open().setLocked(true, cacheNamed: name)
        if output.isJSON { return try Output.jsonLine(["locked": true]) }
        Output.line("\(name.visible) is locked for its request")
    }
}

struct CacheUnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock", abstract: "Let another request replace a cache again.")

    @OptionGroup var store: StoreArgument
    @Argument(help: "The cache's name.") var name: String
    @OptionGroup var output: OutputOption

    func run() throws {
        try store.open().setLocked(false, cacheNamed: name)
        if output.isJSON { return try Output.jsonLine(["locked": false]) }
        Output.line("\(name.visible) is no longer locked")
    }
}
