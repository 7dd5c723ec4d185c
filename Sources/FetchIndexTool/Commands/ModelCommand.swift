internal import ArgumentParser
internal import FetchIndex

struct ModelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "model", abstract: "Look after the entities of a store.", subcommands: [DropEntityCommand.self])
}

struct DropEntityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop-entity", abstract: "Delete all objects of an entity, its caches and the entity.",
        discussion: "An import can then make the entity anew, with other types and another key.")

    @OptionGroup var store: StoreArgument
    @Option(help: "The entity.") var entity: String
    @OptionGroup var output: OutputOption

    func run() throws {
        let count = try store.open().dropEntity(named: entity)
        if output.isJSON { return try Output.jsonLine(["deleted": count]) }
        Output.line("dropped \(entity.visible) with \(Numbers.count(count, "object"))")
    }
}
