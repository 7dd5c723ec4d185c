internal import Administration
internal import Models
internal import ArgumentParser
internal import FetchIndex
internal import Wording

struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Model, counts, file, readers and log of a store.")

    @OptionGroup var store: StoreArgument
    @OptionGroup var output: OutputOption

    func run() throws {
        let information = try store.open(forWriting: false).information()
        if output.isJSON { return try Output.jsonLine(information) }
        Output.line("store   \(information.path.visible)")
        Output.line("format  \(information.format)")
        Output.line("commit  \(information.commit)")
        Output.line(
            "file    \(Numbers.bytes(information.fileBytes)), \(Numbers.bytes(information.freeBytes)) of it free to use again"
        )
        let log = information.log
        Output.line(
            "log     commits after \(log.start), \(Numbers.bytes(log.bytes)) of at most \(Numbers.bytes(log.limit))")
        for entity in information.entities {
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
        if !information.caches.isEmpty {
            Output.line("\ncaches  \(information.caches.map(\.visible).joined(separator: ", "))")
        }
        Output.line("\nreaders \(information.readers.count)")
        for reader in information.readers {
            Output.line("  \(Self.sentence(reader).visible)")
        }
    }

    /// process 4711 (fetchindex): 3 min 12 s old, 1,204 transactions behind, pins 18.2 MiB
    private static func sentence(_ reader: StoreInformation.Reader) -> String {
        let process = "process \(reader.process)\(reader.program.map { " (\($0))" } ?? "")"
        if reader.age == 0 { return "\(process): sees the newest transaction" }
        let time = reader.seconds.map { $0 > 0 ? "\(Numbers.span(seconds: $0)) old" : "sees the newest commit" }
        let age = (reader.isOlder ? "more than " : "") + (time ?? "older than the log")
        let transactions = "\(Numbers.grouped(reader.age)) transaction\(reader.age == 1 ? "" : "s") behind"
        return "\(process): \(age), \(transactions), pins \(Numbers.bytes(reader.pinnedBytes))"
    }
}
