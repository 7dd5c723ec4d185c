internal import FetchIndexTerminal
internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexInspection

struct CacheLockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock", abstract: "Protect a cache from replacement by another request, and from `cache delete`.",
        discussion: """
            A fetch with another request under the name of a locked cache is an error, and so is `cache delete`. A locked \
            cache is still caught up, and rebuilt for its own request. `model drop-entity` deletes it with its entity.

            Example: fetchindex cache lock books.store 'by publisher'
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
        commandName: "unlock",
        abstract: "Unlock a cache, so that another request can replace it, and `cache delete` can delete it.",
        discussion: "Example: fetchindex cache unlock books.store 'by publisher'")

    @OptionGroup var store: StoreArgument
    @Argument(help: "The cache's name.") var name: String
    @OptionGroup var output: OutputOption

    func run() throws {
        try store.open().setLocked(false, cacheNamed: name)
        if output.isJSON { return try Output.jsonLine(["locked": false]) }
        Output.line("\(name.visible) is no longer locked")
    }
}
