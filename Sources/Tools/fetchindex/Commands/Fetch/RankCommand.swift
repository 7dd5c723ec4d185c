internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexInspection
internal import FetchIndexModels
internal import FetchIndexTerminal

struct RankCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rank",
        abstract: "Print how many rows of a cached order come before an object, or before a value of its sort key.",
        discussion: """
            The object is named by a unique attribute, the value is one of the first sort key. A fresh cache answers \
            without reading the rows.

            Example: fetchindex rank books.store --cache 'by price' --value 2000
            """)

    @OptionGroup var store: StoreArgument
    @Option(name: .customLong("cache"), help: "The cache's name.") var cacheName: String
    @Option(help: "The unique value of an object.") var key: String?
    @Option(help: "The unique attribute of --key; by default the entity's first one.") var by: String?
    @Option(parsing: .unconditional, help: "A value of the first sort key.") var value: String?
    @Option(parsing: .unconditional, help: "The section for --value, if the order has several.") var inSection: String?
    @OptionGroup var output: OutputOption

    func validate() throws {
        if (key == nil) == (value == nil) { throw ValidationError("Pass --key or --value.") }
        if by != nil && key == nil { throw ValidationError("--by needs --key.") }
        if inSection != nil && value == nil {
            throw ValidationError("--in-section is for --value: an object is in one section.")
        }
    }

    private struct ObjectRank: Encodable {
        let row: Int
        let count: Int
        let section: Int
        @NullWhenMissing private(set) var sectionName: String?
        let rowInSection: Int
        let countInSection: Int
    }

    private struct ValueRank: Encodable {
        let before: Int
        let equal: Int
        let count: Int
    }

    func run() throws {
        let container = try store.open(forWriting: false)
        let (definition, options) = try RequestOptions.existing(
            cacheName, in: container, ProgressBar("building"), author: "rank")
        let object = try key.map { try find($0, definition.entity, in: container) }
        try container.withOrder(definition, options) { (order: FetchedOrder) in
            if let object {
                try printRank(ofObject: object, order, definition)
            } else if let value {
                try printRank(ofValue: value, order, definition)
            }
        }
    }

    private func find(_ key: String, _ entity: String, in container: PersistentContainer) throws -> ObjectID {
        guard let known = try container.model().entity(named: entity) else {
            throw try container.model().unknownEntity(entity)
        }
        guard let name = by ?? known.attributes.first(where: \.isUnique)?.name else {
            throw Failure("\(entity) has no unique attribute that could name an object")
        }
        guard let attribute = known.attributes.first(where: { $0.name == name }) else {
            throw known.unknownAttribute(name)
        }
        guard attribute.isUnique else { throw ValidationError("\(entity).\(name) is not unique.") }
        let value = try Self.value(key, as: attribute.type, of: "--key")
        guard let object = try container.newContext().object(of: entity, where: name, is: value) else {
            throw Failure("there is no \(entity) with \(name) \"\(key.visible)\"")
        }
        return object.objectID
    }

    /// Parses the value of an option; a double may be inf, -inf or nan.
    private static func value(_ text: String, as type: ValueType, of option: String) throws -> Value {
        let special: Value? = type == .double ? Value(exactly: text, as: type) : nil
        guard let value = Value(text, as: type) ?? special else {
            throw ValidationError("\(option): \"\(text.visible)\" is not \(type.nameWithArticle).")
        }
        return value
    }

    private func printRank(ofObject object: ObjectID, _ order: FetchedOrder, _ definition: OrderDefinition) throws {
        guard let row = try order.row(of: object) else {
            throw Failure("the object is not in the order of \"\(cacheName)\"")
        }
        var path = RowPath(section: 0, row: 0)
        try order.withRow(at: row) { path = $0.path }
        let section = try order.section(at: path.section)
        let name = SectionTitles(definition.sectionKey, order).title(of: section)
        if output.isJSON {
            return try Output.jsonLine(
                ObjectRank(
                    row: row, count: order.rowCount, section: path.section, sectionName: name, rowInSection: path.row,
                    countInSection: section.count))
        }
        Output.line("\(Numbers.grouped(row)) of \(Numbers.count(order.rowCount, "row")) come before it")
        if definition.sectionKey != nil {
            Output.line(
                "in section \(SectionReport.shownName(name).visible), \(Numbers.grouped(path.row)) of "
                    + "\(Numbers.count(section.count, "row"))")
        }
    }

    private func printRank(ofValue text: String, _ order: FetchedOrder, _ definition: OrderDefinition) throws {
        var index: Int?
        if let inSection {
            index = try order.requireSection(named: inSection, SectionTitles(definition.sectionKey, order)).index
        } else if order.sectionCount > 1 {
            throw ValidationError("The order is sorted within its sections: pass --in-section.")
        }
        guard let type = try order.typeOfFirstSortKey() else { throw ValidationError("The order has no sort key.") }
        let value = try Self.value(text, as: type, of: "--value")
        let count = try order.sectionCount == 0 ? 0 : order.section(at: index ?? 0).count
        let rank = try order.sectionCount == 0 ? 0..<0 : order.rank(of: value, inSection: index)
        if output.isJSON {
            return try Output.jsonLine(ValueRank(before: rank.lowerBound, equal: rank.count, count: count))
        }
        Output.line(
            "\(Numbers.grouped(rank.lowerBound)) of \(Numbers.count(count, "row")) come before it, "
                + "\(Numbers.grouped(rank.count)) \(rank.count == 1 ? "has" : "have") this value")
    }
}
