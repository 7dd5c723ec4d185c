internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexInspection

/// Prints the result of a fetch as one JSON document. Sections and rows are written one at a time, and aren't collected
/// in memory.
struct FetchJSONPrinter {
    private let order: FetchedOrder
    private let titles: SectionTitles
    /// The aggregates sorted by name, each with its name as JSON.
    private let aggregates: [(Aggregate<ManagedObject>, name: [UInt8])]
    private let columns: [FetchedColumn]

    init(order: FetchedOrder, definition: OrderDefinition, columns: [FetchedColumn]) {
        self.order = order
        titles = SectionTitles(definition.sectionKey, order)
        aggregates = definition.aggregates.unique.sorted { $0.description < $1.description }.map { aggregate in
            var name: [UInt8] = []
            JSONText.append(aggregate.description, to: &name)
            return (aggregate, name)
        }
        self.columns = columns
    }

    func print(_ outcome: OutcomeReport, _ range: FetchedRange) throws {
        Output.write("{\"outcome\":\(try Output.json(outcome)),\"count\":\(order.memberCount)")
        if !aggregates.isEmpty {
            var bytes = Array(",\"aggregates\":".utf8)
            try appendAggregates(to: &bytes) { try order.aggregate($0, inRows: 0..<order.rowCount) }
            Output.bytes(bytes)
        }
        Output.write(",\"sectionCount\":\(order.sectionCount),\"sections\":[")
        try printSections(range.sections)
        Output.write("],\"rows\":[")
        try printRows(range)
        Output.line("]}")
    }

    /// Appends the values of the aggregates as an object: {"max(released)":"…","sum(price)":12}
    private func appendAggregates(
        to bytes: inout [UInt8], _ value: (Aggregate<ManagedObject>) throws -> Value
    ) throws {
        bytes.append(UInt8(ascii: "{"))
        for (index, (aggregate, name)) in aggregates.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: name)
            bytes.append(UInt8(ascii: ":"))
            JSONText.append(try value(aggregate), to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private func printSections(_ range: Range<Int>) throws {
        var left = range.count
        guard left > 0 else { return }
        var bytes: [UInt8] = []
        try order.forEachSection(from: range.lowerBound) { section in
            bytes.removeAll(keepingCapacity: true)
            if left < range.count { bytes.append(UInt8(ascii: ",")) }
            bytes.append(UInt8(ascii: "{"))
            if !aggregates.isEmpty {
                bytes.append(contentsOf: "\"aggregates\":".utf8)
                try appendAggregates(to: &bytes) { try section.aggregate($0) }
                bytes.append(UInt8(ascii: ","))
            }
            bytes.append(contentsOf: "\"count\":".utf8)
            JSONText.append(section.count, to: &bytes)
            if let id = section.objectID {
                bytes.append(contentsOf: ",\"id\":".utf8)
                JSONText.append(id.number, to: &bytes)
            }
            bytes.append(contentsOf: ",\"indexTitle\":".utf8)
            JSONText.append(titles.indexTitle(of: section), to: &bytes)
            bytes.append(contentsOf: ",\"name\":".utf8)
            JSONText.append(titles.title(of: section).map(Value.string) ?? .null, to: &bytes)
            bytes.append(UInt8(ascii: "}"))
            Output.bytes(bytes)
            left -= 1
            return left > 0
        }
    }

    /// Prints rows as {"id":1,"row":0,"section":0,"values":{…}}, with values sorted by name. Rows of subentities begin
    /// with the member "entity".
    private func printRows(_ range: FetchedRange) throws {
        let columns = columns.sorted { $0.name < $1.name }
        let members = columns.enumerated().map { place, column in
            var member = place == 0 ? [] : [UInt8(ascii: ",")]
            JSONText.append(column.name, to: &member)
            return member + [UInt8(ascii: ":")]
        }
        var bytes: [UInt8] = []
        var isFirst = true
        try order.forEachRow(of: range) { row in
            bytes.removeAll(keepingCapacity: true)
            bytes.append(contentsOf: (isFirst ? "\n{" : ",\n{").utf8)
            isFirst = false
            if order.hasSubentities, row.entity.name != order.entity.name {
                bytes.append(contentsOf: "\"entity\":".utf8)
                JSONText.append(row.entity.name, to: &bytes)
                bytes.append(UInt8(ascii: ","))
            }
            bytes.append(contentsOf: "\"id\":".utf8)
            JSONText.append(row.id.number, to: &bytes)
            bytes.append(contentsOf: ",\"row\":".utf8)
            JSONText.append(row.path.row, to: &bytes)
            bytes.append(contentsOf: ",\"section\":".utf8)
            JSONText.append(row.path.section, to: &bytes)
            bytes.append(contentsOf: ",\"values\":{".utf8)
            for (place, column) in columns.enumerated() {
                bytes.append(contentsOf: members[place])
                let isText = try row.text(of: column) { JSONText.append($0, to: &bytes) }
                if !isText { JSONText.append(try row.value(of: column), to: &bytes) }
            }
            bytes.append(contentsOf: "}}".utf8)
            Output.bytes(bytes)
        }
    }
}

extension [Aggregate<ManagedObject>] {
    /// The aggregates without repetitions, in the order of their first occurrences.
    var unique: [Aggregate<ManagedObject>] {
        var known: Set<Aggregate<ManagedObject>> = []
        return filter { known.insert($0).inserted }
    }
}

/// Prints the result of a fetch as a summary and tables.
struct FetchTablePrinter {
    let order: FetchedOrder
    let definition: OrderDefinition
    let columns: [FetchedColumn]
    /// The key whose distinct values the sections are; nil if they are called sections.
    let distinct: String?

    private var noun: String { distinct == nil ? "section" : "value" }

    func printSummary(_ outcome: OutcomeReport, _ range: FetchedRange) throws {
        let rows = Numbers.count(order.memberCount, "row")
        let hasSections = definition.sectionKey != nil
        let grouped =
            hasSections ? "\(rows) \(distinct == nil ? "in" : "with") \(Numbers.count(order.sectionCount, noun))" : rows
        Output.line("\(outcome.sentence): \(grouped)")
        if !hasSections {
            for aggregate in definition.aggregates.unique {
                let value = try order.aggregate(aggregate, inRows: 0..<order.rowCount)
                Output.line("\(aggregate): \(Self.text(value))")
            }
        }
        if hasSections, !range.sections.isEmpty {
            try printSections(range.sections)
            let left = range.end.sections - range.sections.upperBound
            if left > 0 { Output.line("… \(Numbers.count(left, "more \(noun)")) (--section-limit, --section-offset)") }
        }
    }

    private func printSections(_ range: Range<Int>) throws {
        let aggregates = definition.aggregates.unique
        let titles = SectionTitles(definition.sectionKey, order)
        var table = TextTable(
            [.init(title: distinct ?? "section"), .init(title: "rows", isNumber: true)]
                + aggregates.map { TextTable.Column(title: $0.description, isNumber: true) })
        var left = range.count
        try order.forEachSection(from: range.lowerBound) { section in
            table.append(
                [SectionReport.shownName(titles.title(of: section)), Numbers.grouped(section.count)]
                    + (try aggregates.map { Self.text(try section.aggregate($0)) }))
            left -= 1
            return left > 0
        }
        table.finish()
    }

    private static func text(_ value: Value) -> String {
        if case .integer(let number) = value { Numbers.grouped(Int(number)) } else { value.shownText }
    }

    func printRows(_ range: FetchedRange, hints: Bool) throws {
        // If a column of values is called "section", "row" or "entity", the table's own column of that name gets
        // another title.
        func title(_ name: String, _ other: String) -> String { columns.contains { $0.name == name } ? other : name }
        var table = TextTable(
            [
                TextTable.Column(title: title("section", "in section")),
                TextTable.Column(title: title("row", "at row"), isNumber: true),
            ]
                + (order.hasSubentities ? [TextTable.Column(title: title("entity", "of entity"))] : [])
                + columns.map { .init(title: $0.name, isNumber: $0.type == .integer || $0.type == .double) })
        let titles = SectionTitles(definition.sectionKey, order)
        var section = -1
        var name = ""
        try order.forEachRow(of: range) { row in
            if row.path.section != section {
                section = row.path.section
                name = titles.title(try order.section(at: section).name)
            }
            table.begin()
            table.add(name)
            table.add(String(row.path.row))
            if order.hasSubentities { table.add(row.entity.name) }
            for column in columns {
                let isText = try row.text(of: column) { table.add($0) }
                if !isText { table.add(try row.value(of: column).shownText) }
            }
            table.end()
        }
        table.finish()
        let left = range.end.rows - range.rows.upperBound
        if left > 0 && hints { Output.line("… \(Numbers.count(left, "more row")) (--limit, --offset)") }
    }
}
