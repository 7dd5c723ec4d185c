internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import FetchIndexPostgresSource
internal import FetchIndexInspection

/// The program that `fetchindex follow` starts. It is a separate program, so that `fetchindex` doesn't link libpq.
struct FollowTool: ParsableCommand {
    enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
        case table
        case json
    }

    static let configuration = CommandConfiguration(
        commandName: "fetchindex follow",
        abstract: "Keep entities of a store in step with tables of a PostgreSQL source, until interrupted.",
        usage: """
            fetchindex follow STORE postgres://… --table SCHEMA.TABLE[=ENTITY] [options]
            fetchindex follow STORE [options]      continues with the sources and tables that the store follows
            """,
        discussion: """
            First the tables are copied. After that, their changes are read from the source's log (logical replication) or, \
            with --change-table, from a change table, which triggers in the source fill. A follower that was interrupted continues where it stopped. \
            libpq looks for passwords in ~/.pgpass, PGPASSWORD and a service file. If there are several tables, [ENTITY:] says \
            which of them an option is for. A store may follow several sources, each with a name.
            """)

    @Argument(help: "The store's folder; created if missing.") var store: String
    @Argument(help: "The source in libpq's form: postgres://user@host/database, or host=… dbname=…") var source: String?
    @Option(
        parsing: .unconditionalSingleValue,
        help:
            "A table, as SCHEMA.TABLE or SCHEMA.TABLE=ENTITY; by default the entity has the name of the table. Quotation marks are SQL's: \"Odd.Schema\".\"T\"."
    )
    var table: [String] = []
    @Option(
        help:
            "The name of the source, for a store that follows several: 1 to 40 characters of a to z, 0 to 9 and _. Other options are for this source."
    )
    var name: String?
    @Option(
        parsing: .unconditionalSingleValue,
        help:
            "[ENTITY:]ATTRIBUTE that contains the source's name, and is in the entity's key, so that several sources can fill the entity."
    )
    var shard: [String] = []
    @Flag(
        help:
            "With --shard: rows have different keys in all sources, so the attribute isn't in the key. A row is left out while another source has its key."
    )
    var globalKeys = false
    @Option(
        parsing: .unconditionalSingleValue,
        help:
            "[ENTITY:]COLUMN,… that together identify rows: NOT NULL, with a unique index. By default, the primary key or, without one, the replica identity."
    )
    var key: [String] = []
    @Option(
        parsing: .unconditionalSingleValue,
        help:
            "[ENTITY:]CONDITION in the source's SQL: only rows that satisfy it are followed, or all of several. Needs PostgreSQL 15 or later, or --change-table."
    )
    var `where`: [String] = []
    @Option(
        parsing: .unconditionalSingleValue,
        help:
            "[ENTITY:]COLUMN,… to follow, in addition to the key; by default all columns, including columns added later."
    )
    var columns: [String] = []
    @Option(
        parsing: .unconditionalSingleValue,
        help: "[ENTITY:]COLUMN,… to store as text, such as columns with numbers of more than 38 digits.")
    var text: [String] = []
    @Flag(help: "The source that the store follows has the given address now.")
    var move = false
    @Option(
        parsing: .unconditionalSingleValue,
        help: "A table, as SCHEMA.TABLE, that the store ceases to follow. Its rows stay; --table adds one.")
    var dropTable: [String] = []
    @Option(
        parsing: .unconditionalSingleValue,
        help:
            "[ENTITY:]error, null or clamp: the rule for values that the store's types don't have, such as infinite dates. By default an error: their rows are left out and named. The store remembers it, and another start may change it."
    )
    var unstorable: [String] = []
    @Option(parsing: .unconditionalSingleValue, help: "A cache to catch up in each of the store's transactions.")
    var cache: [String] = []
    @Flag(
        help:
            "Read changes from a change table, which triggers in the source fill, instead of the source's log; no slot is needed."
    )
    var changeTable = false
    @Flag(help: "Print the SQL that creates the change table and its triggers, and exit.") var printSetup = false
    @Option(
        help:
            "Print the SQL that computes the fingerprint of this entity's table in the source, to be compared with the store's (`fetch --aggregate fingerprint`), and exit."
    )
    var printFingerprint: String?
    @Option(help: "With --print-fingerprint: the column whose values are the store's sections.") var by: String?
    @Option(help: "The replication slot; created if missing.") var slot: String?
    @Option(help: "An existing publication; by default one is created.") var publication: String?
    @Flag(help: "Exit when the store has reached the state that the source had when this command connected.") var once =
        false
    @Flag(help: "Copy all tables again. Rows that the source no longer has are deleted at the end.") var recopy = false
    @Flag(
        help:
            "Copy all tables again if changes are lost, e.g. because the slot was dropped or the change table trimmed.")
    var recopyWhenLost = false
    @Flag(help: "Stop following: drop the slot and the publication that were created for the store. The rows stay.")
    var end = false
    @Option(help: "Lines for people, or JSON lines for programs.") var output = OutputFormat.table

    func validate() throws {
        if end, !table.isEmpty || recopy || once {
            throw ValidationError("--end cannot be used with --table, --recopy or --once.")
        }
        if changeTable, slot != nil || publication != nil {
            throw ValidationError("--slot and --publication cannot be used with --change-table.")
        }
        if printSetup, source == nil || table.isEmpty {
            throw ValidationError("--print-setup needs the source's address and --table.")
        }
        if printFingerprint != nil,
            source != nil || !table.isEmpty || !cache.isEmpty || once || recopy || recopyWhenLost || end
                || output == .json
        {
            throw ValidationError(
                "--print-fingerprint prints SQL for a store that follows; only --by can be used with it.")
        }
        if move, source == nil { throw ValidationError("--move needs the new address.") }
        if by != nil, printFingerprint == nil { throw ValidationError("--by needs --print-fingerprint.") }
        if table.isEmpty, !(key + `where` + columns + text + shard).isEmpty {
            throw ValidationError("--key, --where, --columns, --text and --shard need --table.")
        }
        if !shard.isEmpty, name == nil { throw ValidationError("--shard needs --name, which the attribute contains.") }
        for text in shard {
            let name = text.split(separator: ":", omittingEmptySubsequences: false).last ?? ""
            let isName = name.first.map { $0.isLetter || $0 == "_" } ?? false
            guard isName, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }) else {
                throw ValidationError("--shard \(text) does not name an attribute.")
            }
        }
        if globalKeys, shard.isEmpty { throw ValidationError("--global-keys needs --shard.") }
    }

    func run() throws {
        var options = FollowOptions()
        (options.name, options.address) = (name, source)
        options.tables = try tables()
        options.unstorable = try rules()
        options.droppedTables = dropTable
        options.moves = move
        options.usesChangeTable = changeTable
        (options.slot, options.publication, options.caches) = (slot, publication, cache)
        (options.endsWhenCurrent, options.recopies, options.recopiesWhenLost) = (once, recopy, recopyWhenLost)
        let events = EventPrinter(isJSON: output == .json)
        if printSetup { return events.line(try Follower.setup(source ?? "", options.tables)) }
        if let printFingerprint {
            return events.line(
                try Follower.fingerprintQuery(storeAt: store, named: name, entity: printFingerprint, by: by))
        }
        if end {
            if let left = try Follower.end(storeAt: store, named: name) { EventPrinter.error(left) }
            return events.line(
                "the store no longer follows \(name.map { "the source \($0)" } ?? "a source"); its rows stay")
        }
        do {
            let followers = try Followers(
                storeAt: store, options, isInterrupted: { Interruption.isAsked },
                report: { name, event in events.print(event, of: name) })
            try followers.run()
        } catch is Interrupted {}
    }

    private func rules() throws -> [String: UnstorableRule] {
        var rules: [String: UnstorableRule] = [:]
        for text in unstorable {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard let rule = parts.last.flatMap({ UnstorableRule(rawValue: String($0)) }) else {
                throw ValidationError("--unstorable \(text) names none of error, null and clamp.")
            }
            rules[parts.dropLast().joined(separator: ":")] = rule
        }
        return rules
    }

    private func tables() throws -> [TableChoice] {
        var choices = try table.map { try TableChoice($0) }
        func forEach(_ option: String, _ values: [String], _ set: (inout TableChoice, String) -> Void) throws {
            for text in values {
                // Two colons belong to the value: they are a cast, such as ::text in a condition.
                let named = choices.firstIndex { text.hasPrefix($0.entity + ":") && !text.hasPrefix($0.entity + "::") }
                guard named != nil || choices.count == 1 else {
                    throw ValidationError("\(option) \(text) does not say which table it is for: write ENTITY:…")
                }
                let value = named.map { String(text.dropFirst(choices[$0].entity.count + 1)) } ?? text
                set(&choices[named ?? 0], value)
            }
        }
        for text in shard where text.contains(":") && !choices.contains(where: { text.hasPrefix($0.entity + ":") }) {
            throw ValidationError("--shard \(text) names no entity of these tables.")
        }
        try forEach("--shard", shard) { $0.shard = FollowedSource.Shard($1, isInKey: !globalKeys) }
        func names(_ text: String) -> [String] { text.split(separator: ",").map(String.init) }
        try forEach("--key", key) { $0.key = names($1) }
        try forEach("--where", `where`) { choice, text in
            choice.condition = choice.condition.map { "(\($0)) AND (\(text))" } ?? text
        }
        try forEach("--columns", columns) { $0.columns = names($1) }
        try forEach("--text", text) { $0.asText = names($1) }
        return choices
    }
}

/// Whether SIGINT or SIGTERM has arrived.
enum Interruption {
    /// 1 after a signal. A signal handler may write a `sig_atomic_t`.
    nonisolated(unsafe) private static var count: sig_atomic_t = 0

    static var isAsked: Bool { count != 0 }

    static func listen() {
        for number in [SIGINT, SIGTERM] {
            signal(number) { number in
                Interruption.count = 1
                // The next signal of this kind ends the process immediately.
                signal(number, SIG_DFL)
            }
        }
        Signals.unblock([SIGINT, SIGTERM])
    }
}

/// Exit codes: 0 done or interrupted, 2 wrong usage, 1 other errors.
@main
enum Main {
    static func main() {
        Descriptors.openMissingStandard()
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        Interruption.listen()
        do {
            try FollowTool.parse().run()
            try EventPrinter.flush()
        } catch {
            try? EventPrinter.flush()
            exit(report(error))
        }
    }

    private static func report(_ error: any Error) -> Int32 {
        if let error = error as? SourceError {
            EventPrinter.error(error.sentence())
            return error.kind == .usage ? 2 : 1
        }
        switch FollowTool.exitCode(for: error) {
        case .success:
            print(FollowTool.fullMessage(for: error))
            return 0
        case .validationFailure:
            EventPrinter.error(FollowTool.message(for: error))
            return 2
        default:
            if case StoreError.otherLMDBVersion = error {
                EventPrinter.error("\(error); `fetchindex upgrade` converts it")
            } else {
                EventPrinter.error("\(error)")
            }
            return 1
        }
    }
}
