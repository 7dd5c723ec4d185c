internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexInspection
internal import FetchIndexTerminal

/// One of several equal parts of an order's rows, from 1.
struct RowPart {
    let part: Int
    let count: Int
}

/// The options that choose rows by their ranks.
struct RowChoice: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Print one of several equal parts of the rows, such as 3/16, for workers that share them. With the same --at, each row is in exactly one part.",
            valueName: "k/n"))
    var part: String?
    @Option(help: "Print this number of rows, which are chosen by chance, in their order.") var sample: Int?
    @Option(help: "The number that determines the rows of --sample; 0 by default.") var seed: UInt64?
    @Option(
        help: ArgumentHelp(
            "Print percentiles of the first sort key in each section, such as 50,95,99, without reading the rows.",
            valueName: "percent,…"))
    var percentile: String?

    var isEmpty: Bool { part == nil && sample == nil && percentile == nil }

    func validate() throws {
        if percentile != nil && (part != nil || sample != nil) {
            throw ValidationError("--percentile prints no rows: --part and --sample cannot be used with it.")
        }
        if seed != nil && sample == nil { throw ValidationError("--seed is for --sample.") }
        if let sample, sample < 0 { throw ValidationError("--sample must not be negative.") }
        _ = try rowPart()
        _ = try percents()
    }

    func rowPart() throws -> RowPart? {
        guard let part else { return nil }
        let numbers = part.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.count == 2, let number = numbers[0], let count = numbers[1], number > 0, number <= count else {
            throw ValidationError("--part is a part and the number of parts, such as 3/16, not \"\(part)\".")
        }
        return RowPart(part: number, count: count)
    }

    /// The percentages as they were given.
    var percentNames: [String] {
        percentile.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } ?? []
    }

    func percents() throws -> [Double] {
        try percentNames.map { text in
            guard let percent = Double(text), (0...100).contains(percent) else {
                throw ValidationError("--percentile takes numbers from 0 to 100, such as 50,95,99, not \"\(text)\".")
            }
            return percent
        }
    }
}

/// The percentiles of the first sort key in sections.
struct PercentileReport: Encodable {
    private struct Section: Encodable {
        @NullWhenMissing private(set) var name: String?
        let count: Int
        let percentiles: [String: JSONValue]
        let values: [Value]

        enum CodingKeys: CodingKey { case name, count, percentiles }
    }

    private let sections: [Section]
    private let names: [String]
    private let hasSections: Bool

    private enum CodingKeys: CodingKey { case sections }

    init(
        of order: FetchedOrder, _ definition: OrderDefinition, _ sections: Range<Int>, _ choice: RowChoice
    ) throws {
        let (percents, names) = (try choice.percents(), choice.percentNames)
        let titles = SectionTitles(definition.sectionKey, order)
        self.names = names
        hasSections = definition.sectionKey != nil
        self.sections = try sections.map { index in
            let section = try order.section(at: index)
            let values = try percents.map { try order.percentile($0, inSection: index) }
            return Section(
                name: titles.title(of: section), count: section.count,
                percentiles: Dictionary(zip(names, values.map(JSONValue.init))) { first, _ in first }, values: values)
        }
    }

    func print(asJSON isJSON: Bool) throws {
        if isJSON { return try Output.jsonLine(self) }
        var table = TextTable(
            (hasSections ? [.init(title: "section")] : []) + [.init(title: "rows", isNumber: true)]
                + names.map { .init(title: "\($0) %", isNumber: true) })
        for section in sections {
            let name = hasSections ? [SectionReport.shownName(section.name).visible] : []
            table.append(name + [Numbers.grouped(section.count)] + section.values.map(\.shownText.visible))
        }
        table.finish()
    }
}
