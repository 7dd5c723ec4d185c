internal import FetchIndexTerminal
internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexInspection

struct IndexCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index",
        abstract: "Add and drop indexes: orders for fast lookups, which every writer maintains.",
        subcommands: [IndexAddCommand.self, IndexDropCommand.self])
}

struct IndexArguments: ParsableArguments {
    @OptionGroup var store: StoreArgument
    @Argument(help: "The attributes or to-one relationships of the index: KEY[:desc],...")
    var keys: String
    @Option(help: "The entity; required if the store has several.") var entity: String?
    @OptionGroup var output: OutputOption

    /// Migrates the store to a model with changed indexes, and prints the steps.
    func migrate(_ change: (Entity, Index) throws -> Entity) throws {
        let container = try store.open()
        let stored = try container.model()
        let changed = try change(stored.entity(orOnly: entity), Index(parsing: keys))
        // The new model has all entities, because each relationship needs its destination.
        let model = Model(entities: stored.entities.map { $0.name == changed.name ? changed : $0 })
        let plan = try container.plan(for: model)
        try container.migrate(to: model)
        try ModelReport(plan).print(output)
    }
}

struct IndexAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add an index, and build it in one pass over the records.",
        discussion: "Example: fetchindex model index add books.store publisher,price:desc")

    @OptionGroup var arguments: IndexArguments

    func run() throws {
        try arguments.migrate { entity, index in
            Entity(
                entity.name, entity.attributes, relationships: entity.relationships, unique: entity.uniqueAttributes,
                indexes: entity.indexes + [index], superentity: entity.superentity, isAbstract: entity.isAbstract)
        }
    }
}

struct IndexDropCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Drop an index.",
        discussion: """
            A program that has opened the store before does not add the index again, although its class declares it. A program \
            with a changed or new class that still declares the index does.

            Example: fetchindex model index drop books.store publisher,price:desc
            """)

    @OptionGroup var arguments: IndexArguments

    func run() throws {
        try arguments.migrate { entity, index in
            guard entity.indexes.contains(index) else {
                throw Failure("\(entity.name) has no index \"\(index.text)\"")
            }
            return Entity(
                entity.name, entity.attributes, relationships: entity.relationships, unique: entity.uniqueAttributes,
                indexes: entity.indexes.filter { $0 != index }, removedIndexes: [index],
                superentity: entity.superentity, isAbstract: entity.isAbstract)
        }
    }
}
