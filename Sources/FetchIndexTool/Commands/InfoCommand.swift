internal import ArgumentParser
internal import FetchIndex

struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Model, counts, file, readers and log of a store.")

    @OptionGroup var store: StoreArgument
    @OptionGroup var output: OutputOption

    func run() throws {
        let information = try store.open(forWriting: false).information()
        if output.isJSON { return try Output.jsonLine(information) }
        Output.line("store   \(information.path)")
        Output.line("format  \(information.format)")
        Output.line("commit  \(information.commit)")
        Output.line(
            "file    \(Numbers.bytes(information.fileBytes)), \(Numbers.bytes(information.freeBytes)) of it free to use again"
        )
        let log = information.log
        Output.line(
            "log     commits after \(log.start), \(Numbers.bytes(log.bytes)) of at most \(Numbers.bytes(log.limit))")
        for entity in information.entities {
            Output.line("\n\(entity.name): \(Numbers.grouped(entity.count)) objects")
            var table = TextTable([.init(title: "attribute"), .init(title: "type"), .init(title: "rules")])
            for attribute in entity.attributes {
                let rules = [attribute.isOptional ? nil : "required", attribute.isUnique ? "unique" : nil]
                table.append([attribute.name, attribute.type, rules.compactMap { $0 }.joined(separator: ", ")])
            }
            table.print()
        }
        if !information.caches.isEmpty { Output.line("\ncaches  \(information.caches.joined(separator: ", "))") }
        Output.line("\nreaders \(information.readers.count)")
        for reader in information.readers {
            Output.line("  process \(reader.process), \(reader.age) transactions old")
        }
    }
}

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check every structure of a store; exit 1 with a list of defects.")

    @OptionGroup var store: StoreArgument
    @OptionGroup var output: OutputOption

    func run() throws {
        let bar = ProgressBar("checking")
        let defects = try PersistentContainer.check(at: store.store) {
            try store.open(forWriting: false)
        } progress: {
            bar.show(rows: $0, of: $1)
        }
        bar.finish()
        if output.isJSON {
            try Output.jsonLine(["defects": defects])
        } else {
            Output.line(defects.isEmpty ? "the store is whole" : "the store has \(defects.count) defects")
            for defect in defects { Output.line("  \(defect)") }
        }
        if !defects.isEmpty { throw Failure() }
    }
}
