internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexModels
internal import ArgumentParser
internal import FetchIndexInspection

enum InfoFormat: String, ExpressibleByArgument, CaseIterable {
    case table
    case json
    case prometheus
}

struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Show the model, counts, file, readers and log of a store.",
        discussion: "Example: fetchindex info books.store --output prometheus >/var/lib/node_exporter/books.prom")

    @OptionGroup var store: StoreArgument
    @Option(help: "Text for people, JSON for programs, or metrics for Prometheus's text files.")
    var output = InfoFormat.table
    @Option(
        help: ArgumentHelp(
            "Fail with the exit code 1 if the store may be more than this many seconds behind its source, or if that is unknown.",
            valueName: "seconds"))
    var checkLag: Double?

    func validate() throws {
        if let checkLag, !(checkLag >= 0) { throw ValidationError("--check-lag needs a number of seconds.") }
    }

    func run() throws {
        let container = try store.open(forWriting: false)
        let information = try container.information()
        switch output {
        case .prometheus: Output.write(try StoreMetrics(of: container).text)
        case .json: try Output.jsonLine(information)
        case .table: Self.show(information)
        }
        if let checkLag { try Self.requireLag(of: information, atMost: checkLag) }
    }

    private static func requireLag(of information: StoreInformation, atMost most: Double) throws {
        if information.sources.isEmpty { throw Failure("the store follows no source") }
        for source in information.sources {
            let title = information.sources.count == 1 ? "its source" : "its source \(source.name)"
            guard let lag = source.greatestLagSeconds else {
                let reason = source.reason.map { ": \($0)" } ?? (source.isRunning ? "" : ": no process follows it")
                throw Failure("how far the store is behind \(title) is not known\(reason)")
            }
            if lag <= most { continue }
            let silence = source.silence.map { ", and last heard from it \(Numbers.span(seconds: $0)) ago" } ?? ""
            throw Failure("the store may be \(Numbers.span(seconds: lag)) behind \(title)\(silence)")
        }
    }

    private static func show(_ information: StoreInformation) {
        Output.line("store   \(information.path.visible)")
        Output.line("format  \(information.format)")
        let lmdb = information.lmdb
        let checksums = lmdb.hasPageChecksums ? "with" : "without"
        Output.line(
            "lmdb    file of \(lmdb.release) (data version \(lmdb.fileVersion)) \(checksums) page checksums; this program uses LMDB \(lmdb.library)"
        )
        Output.line("commit  \(information.commit)")
        Output.line(
            "file    \(Numbers.bytes(information.fileBytes)), \(Numbers.bytes(information.freeBytes)) of it free to use again"
        )
        let log = information.log
        Output.line(
            "log     commits after \(log.start), \(Numbers.bytes(log.bytes)) of at most \(Numbers.bytes(log.limit))")
        for bookmark in information.bookmarks {
            Output.line("        bookmark \(bookmark.name.visible) \(bookmark.place)")
        }
        Output.line("zones   \(sentence(information.timeZones))")
        for entity in information.entities { show(entity) }
        if !information.caches.isEmpty {
            Output.line("\ncaches  \(information.caches.map(\.visible).joined(separator: ", "))")
        }
        for source in information.sources { show(source) }
        Output.line("\nreaders \(information.readers.count)")
        for reader in information.readers {
            Output.line("  \(sentence(reader).visible)")
        }
    }

    private static func show(_ entity: StoreInformation.Entity) {
        Output.line("\n\(entity.name.visible): \(Numbers.count(entity.count, "object"))")
        var table = TextTable([.init(title: "attribute"), .init(title: "type"), .init(title: "rules")])
        for attribute in entity.attributes {
            let rules = [attribute.isOptional ? nil : "required", attribute.isUnique ? "unique" : nil]
            table.append([attribute.name, attribute.type, rules.compactMap { $0 }.joined(separator: ", ")])
        }
        table.finish()
        for relationship in entity.relationships {
            let links = relationship.links.map { ", \(Numbers.count($0, "link"))" } ?? ""
            Output.line(
                "\(relationship.name.visible): \(relationship.isToMany ? "many" : "one") of "
                    + relationship.destination.visible + links)
        }
    }

    /// A text such as "time zones of the system, 2025b; ICU has 2022e".
    private static func sentence(_ zones: StoreInformation.TimeZones) -> String {
        let used = "time zones of \(zones.source == "system" ? "the system" : zones.source)"
        let other = zones.source == "system" ? ("ICU", zones.icuVersion) : ("the system", zones.systemVersion)
        return "\(used), \(zones.version ?? "of unknown version"); "
            + (other.1.map { "\(other.0) has \($0)" } ?? "\(other.0) does not tell a version")
    }

    private static func show(_ source: StoreInformation.Source) {
        let name = source.name == SourceName.main ? "" : "\(source.name): "
        Output.line("\nsource  \(name)\(source.address.visible)")
        for table in source.tables { show(table) }
        let isPart = source.tables.contains { !$0.omittedRows.isEmpty }
        let equal = "where it equals the source" + (isPart ? " but for the rows that are left out" : "")
        let position = source.position.map { "the store is at \($0)" } ?? "the store has no position yet"
        Output.line("  \(position), \(source.isConsistent ? equal : "and does not equal the source yet")")
        guard let state = source.state, let age = source.age, let process = source.process else {
            return Output.line("  no process follows the source")
        }
        let said = "\(Numbers.span(seconds: age)) ago"
        Output.line(
            source.isRunning
                ? "  process \(process) is \(state), as of \(said)"
                : "  no process follows the source; the last follower reported \"\(state)\" \(said)")
        if let reason = source.reason { Output.line("  \(reason.visible)") }
        if let silence = source.silence {
            Output.line("  the source was last heard from \(Numbers.span(seconds: silence)) ago")
        }
        let lag = [
            source.lagBytes.map { "\(Numbers.bytes($0)) of the source's log" },
            source.lagSeconds.map { Numbers.span(seconds: $0) },
        ].compactMap { $0 }
        if !lag.isEmpty {
            Output.line("  behind by \(lag.joined(separator: ", "))")
        } else if let greatest = source.greatestLagSeconds {
            Output.line("  behind by at most \(Numbers.span(seconds: greatest))")
        }
        let retained = source.retainedBytes.map { ", for which the source retains \(Numbers.bytes($0)) of log" } ?? ""
        Output.line(
            source.slot.map { "  slot \($0.visible): \(source.slotState ?? "state unknown")\(retained)" }
                ?? "  changes are read from the source's change table")
    }

    private static func show(_ table: StoreInformation.Source.Table) {
        let condition = table.condition.map { " where \($0)" } ?? ""
        let shard = table.shard.map { ", with the source's name as \($0)" } ?? ""
        Output.line(
            "  \(table.name) as \(table.entity), by \(table.key)\(shard)\(condition)".visible
                + (table.isCopied ? "" : ": not copied yet"))
        for reason in table.omittedRows.prefix(3) { Output.line("    left out: \(reason.visible)") }
        if table.omittedRows.count > 3 {
            Output.line("    \(Numbers.count(table.omittedRows.count, "row")) left out in all")
        }
    }

    /// A text such as "process 4711 (fetchindex): 3 min 12 s old, 1,204 transactions behind, pins 18.2 MiB".
    private static func sentence(_ reader: StoreInformation.Reader) -> String {
        let process = "process \(reader.process)\(reader.program.map { " (\($0))" } ?? "")"
        if reader.age == 0 { return "\(process): sees the newest transaction" }
        let time = reader.seconds.map { $0 > 0 ? "\(Numbers.span(seconds: $0)) old" : "sees the newest commit" }
        let age = (reader.isOlder ? "more than " : "") + (time ?? "of unknown age")
        let transactions = "\(Numbers.grouped(reader.age)) transaction\(reader.age == 1 ? "" : "s") behind"
        return "\(process): \(age), \(transactions), pins \(Numbers.bytes(reader.pinnedBytes))"
    }
}
