internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexEssentials
internal import ArgumentParser
internal import FetchIndexInspection

struct BookmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bookmark", abstract: "Manage named points, from which changes are asked for.",
        subcommands: [BookmarkAddCommand.self, BookmarkListCommand.self, BookmarkDeleteCommand.self])
}

extension Bookmark {
    /// A text such as "at commit 7, set 2026-11-29T04:18:10Z".
    var place: String {
        "at commit \(commit), set \(Clock.iso8601(time.timeIntervalSince1970))"
            + (isReachable ? ", keeps \(Numbers.bytes(pinnedBytes)) of the log" : "; the log no longer reaches it")
    }
}

struct BookmarkAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Set or move a bookmark.",
        discussion: """
            `changes --since NAME` prints what has changed since a bookmark, and --advance moves it on. Each consumer of \
            changes has a bookmark of its own. The store keeps the log after its bookmarks, up to the log's limit.

            Example: fetchindex bookmark add books.store mail
            """)

    @OptionGroup var store: StoreArgument
    @Argument(help: "The bookmark's name, which doesn't begin with a digit.") var name: String
    @Option(
        help: "A commit, a time or another bookmark; the newest commit by default.", transform: StorePoint.parse)
    var at: StorePoint?
    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var output: OutputOption

    func run() throws {
        let container = try store.open()
        let bookmark: Bookmark
        do { bookmark = try container.setBookmark(named: name, at: at, writeTimeout: timeout.limit) } catch StoreError
            .logTooShort
        {
            throw try (at ?? .bookmark(name)).unreachable(in: container)
        }
        if output.isJSON { return try Output.jsonLine(bookmark) }
        Output.line("\(bookmark.name.visible) is \(bookmark.place)")
    }
}

struct BookmarkListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the bookmarks.",
        discussion: "Example: fetchindex bookmark list books.store")

    @OptionGroup var store: StoreArgument
    @OptionGroup var output: OutputOption

    func run() throws {
        let bookmarks = try store.open(forWriting: false).bookmarks()
        if output.isJSON { return try Output.jsonLine(bookmarks) }
        if bookmarks.isEmpty { return Output.line("the store has no bookmarks") }
        for bookmark in bookmarks { Output.line("\(bookmark.name.visible) \(bookmark.place)") }
    }
}

struct BookmarkDeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a bookmark, so that the log after it needn't be kept.",
        discussion: "Example: fetchindex bookmark delete books.store mail")

    @OptionGroup var store: StoreArgument
    @Argument(help: "The bookmark's name.") var name: String
    @OptionGroup var output: OutputOption

    func run() throws {
        try store.open().deleteBookmark(named: name)
        if output.isJSON { return try Output.jsonLine(["deleted": name]) }
        Output.line("deleted \(name.visible)")
    }
}
