internal import ArgumentParser

struct FollowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Keep entities of a store in step with tables of a PostgreSQL source, until interrupted.",
        discussion: """
            The follower is a separate program, fetchindex-follow, in the folder of fetchindex. `fetchindex follow --help` \
            lists its options.

            Example: fetchindex follow books.store 'postgres://reader@db/shop' --table book
            """)

    @Argument(parsing: .captureForPassthrough) var arguments: [String] = []

    func run() throws {
        try CompanionProgram(name: "fetchindex-follow", purpose: "the program that follows a source").run(arguments)
    }
}
