internal import FetchIndexTerminal
internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexInspection
internal import FetchIndexModels

struct ModelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "model", abstract: "Show and change the model of a store.",
        subcommands: [
            ModelShowCommand.self, ModelPlanCommand.self, ModelMigrateCommand.self, ModelDiffCommand.self,
            IndexCommand.self, DropEntityCommand.self,
        ])
}

struct ModelShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the entities of a store, or of a model in a file, with their attributes.",
        discussion: """
            Says on standard error what of a model of Core Data cannot be represented.

            Example: fetchindex model show books.store --output json >model.json
            """)

    @Argument(
        help: "A store's folder, a file of `model show --output json`, or a model of Core Data.", completion: .file())
    var model: String
    @Option(help: "The version in a bundle of Core Data; by default the current one.") var modelVersion: String?
    @Option(help: "A table for people, JSON for --to of other commands, or Swift classes that declare the model.")
    var output = Format.table

    enum Format: String, ExpressibleByArgument, CaseIterable { case table, json, swift }

    func run() throws {
        let input = try ModelInput(self.model, version: modelVersion)
        let model = input.model
        if output == .swift {
            return Output.bytes(Array(SwiftClasses(model, classNames: input.classNames).source.utf8))
        }
        if output == .json { return try Output.jsonLine(ModelFile(model)) }
        for (index, entity) in model.entities.enumerated() {
            let above = entity.superentity.map { ", a subentity of \($0.visible)" } ?? ""
            Output.line(
                (index == 0 ? "" : "\n") + entity.name.visible + above + (entity.isAbstract ? ", abstract" : ""))
            var table = TextTable([
                .init(title: "attribute"), .init(title: "type"), .init(title: "rules"), .init(title: "default"),
            ])
            for attribute in entity.attributes {
                let rules = [
                    attribute.isOptional ? nil : "required", attribute.isUnique ? "unique" : nil,
                    attribute.derivation.map { "derived by \($0)" },
                ]
                table.append([
                    attribute.name, attribute.type.name, rules.compactMap { $0 }.joined(separator: ", "),
                    attribute.defaultValue.isNull ? "" : attribute.defaultValue.description,
                ])
            }
            table.finish()
            for names in entity.uniqueAttributes {
                Output.line("unique together: \(names.joined(separator: ", ").visible)")
            }
            for relationship in entity.relationships { Output.line(relationship.sentence.visible) }
            for index in entity.indexes { Output.line("index: \(index.text.visible)") }
        }
        if !model.requests.isEmpty { Output.line("") }
        for request in model.requests {
            let condition = request.predicate.isEmpty ? "" : " where \(request.predicate)"
            Output.line("request \(request.name): \(request.entity)\(condition)".visible)
        }
    }
}

struct ModelPlanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show what a change of the model would cost, and why, without changing anything.",
        discussion: "Example: fetchindex model plan books.store --add pages:integer=0")

    @OptionGroup var store: StoreArgument
    @OptionGroup var options: ModelOptions
    @OptionGroup var output: OutputOption

    func run() throws {
        let container = try store.open(forWriting: false)
        let stored = try container.model()
        let model =
            try options.whole()?.target(for: stored, dropsEntities: options.dropEntities) ?? options.model(from: stored)
        try ModelReport(container.plan(for: model)).print(output)
    }
}

struct ModelMigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Change the model of a store, in one transaction.",
        discussion: """
            The migration fails if a value cannot be converted, if an attribute becomes required and an object has null, or if \
            an attribute becomes unique and two objects have the same value. The error names the first such objects, and \
            nothing is changed.

            Example: fetchindex model migrate books.store --rename title=name
            """)

    @OptionGroup var store: StoreArgument
    @OptionGroup var options: ModelOptions
    @Flag(help: "Create the store if it is missing; needs --to.") var create = false
    @OptionGroup var output: OutputOption

    func validate() throws {
        if create && options.to == nil {
            throw ValidationError("--create needs --to FILE, the model of the new store.")
        }
    }

    func run() throws {
        // Reads the file first, so that no store is created if the file can't be read.
        let whole = try options.whole()
        let container =
            create
            ? try PersistentContainer(storeAt: store.store, creates: true)
            : try store.open()
        let stored = try container.model()
        let model = try whole?.target(for: stored, dropsEntities: options.dropEntities) ?? options.model(from: stored)
        let plan = try container.plan(for: model)
        let bar = ProgressBar("migrating")
        defer { bar.finish() }
        try container.migrate(to: model, progress: { bar.show(rows: $0, of: $1) })
        bar.finish()
        try ModelReport(plan).print(output)
    }
}

struct ModelDiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show what a change from one model to another would cost a store.",
        discussion: """
            Each model is a store's, a file of `model show --output json`, or one of Core Data. The exit code is 1 if \
            the change needs a decision: existing objects lack values that the new model requires.

            Example: fetchindex model diff 'App.xcdatamodeld/App.xcdatamodel' App.xcdatamodeld
            """)

    @Argument(help: "The old model.", completion: .file()) var old: String
    @Argument(help: "The new model.", completion: .file()) var new: String
    @Option(help: "If NEW is a bundle of Core Data: its version, by default the current one.")
    var modelVersion: String?
    @OptionGroup var output: OutputOption

    func run() throws {
        let stored = try PersistentContainer(temporaryWith: ModelInput(old).model).model()
        let model = try ModelInput(new, version: modelVersion).target(for: stored, dropsEntities: true)
        try model.validate()
        // Not by the container's plan, because everything is free for a store without objects.
        let plan = try ModelMigration(from: stored, to: model, isDemanded: true, hasClosure: false).difference { _ in
            true
        }
        try ModelReport(plan).print(output, ifEmpty: "a store of the old model already has the new one")
        if plan.verdict == .decision { throw Failure() }
    }
}

/// The steps of a migration.
struct ModelReport: Encodable {
    struct Step: Encodable {
        let entity: String
        let change: String
        let verdict: String
        let reason: String
    }

    let steps: [Step]

    init(_ plan: ModelDifference) {
        steps = plan.steps.map {
            Step(entity: $0.entity, change: $0.change.description, verdict: $0.verdict.rawValue, reason: $0.reason)
        }
    }

    func print(_ output: OutputOption, ifEmpty: String = "the store already has this model") throws {
        if output.isJSON { return try Output.jsonLine(self) }
        if steps.isEmpty { return Output.line(ifEmpty) }
        var table = TextTable([
            .init(title: "entity"), .init(title: "change"), .init(title: "cost"), .init(title: "reason"),
        ])
        for step in steps { table.append([step.entity, step.change, step.verdict, step.reason]) }
        table.finish()
    }
}

struct DropEntityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop-entity", abstract: "Delete an entity, with its objects, caches and relationships.",
        discussion: """
            After that, an import can create the entity again, with other types and another key.

            Example: fetchindex model drop-entity books.store --entity Draft
            """)

    @OptionGroup var store: StoreArgument
    @Option(help: "The entity.") var entity: String
    @OptionGroup var output: OutputOption

    func run() throws {
        let count = try store.open().dropEntity(named: entity)
        if output.isJSON { return try Output.jsonLine(["deleted": count]) }
        Output.line("dropped \(entity.visible) with \(Numbers.count(count, "object"))")
    }
}
