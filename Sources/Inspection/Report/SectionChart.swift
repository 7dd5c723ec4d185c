internal import FetchIndexInspection
internal import FetchIndex

/// A chart of the sizes of a cache's sections.
struct SectionChart {
    private static let mostColumns = 240
    private static let mostLargest = 8
    private static let mostNameLength = 60
    /// The sections aren't read one by one if the order has more sections than this.
    private static let mostRead = 20_000

    private let order: StoredOrder
    private let titles: SectionTitles
    /// All sections; empty if there are too many to read.
    private let sections: [FetchedSection]

    /// Returns nil if the cache has no sections, or if its header can't be used. Throws `StoreError`.
    init?(ofCache name: String, in state: PinnedState) throws {
        guard let order = try state.storedOrder(ofCache: name), order.hasSections, order.sectionCount > 0 else {
            return nil
        }
        self.order = order
        titles = try SectionTitles(ofCache: name, in: state)
        sections = order.sectionCount > Self.mostRead ? [] : try order.sections(limit: Self.mostRead)
    }

    /// The largest sections; empty if the sections were not read.
    var largest: [Fact] {
        sections.enumerated().sorted { ($1.element.count, $0.offset) < ($0.element.count, $1.offset) }
            .prefix(Self.mostLargest).map { Fact(name: shownName($1), value: Numbers.grouped($1.count)) }
    }

    func figure() throws -> Figure {
        let columns = try sections.isEmpty ? means() : greatest()
        let chart = ColumnChart(columns, styles: ["part0"])
        let each = (order.sectionCount + columns.count - 1) / columns.count
        let note =
            sections.isEmpty
            ? "a column is the mean of up to \(each) sections" : "a column is the largest of up to \(each) sections"
        return Figure(
            title: "Rows by section", top: Numbers.grouped(Int(chart.greatest.rounded())),
            svg: chart.svg(title: "Rows by section"), left: shownName(try order.section(at: 0)),
            right: shownName(try order.section(at: order.sectionCount - 1)), note: each > 1 ? note : "")
    }

    private func greatest() -> [ColumnChart.Column] {
        ColumnChart.reduced(sections, to: Self.mostColumns) { group in
            let names = [group.first, group.last].compactMap { $0.map(shownName) }
            let range = group.count == 1 ? names[0] : "\(names[0]) to \(names[names.count - 1])"
            let most = group.map(\.count).max() ?? 0
            return ColumnChart.Column(title: "\(range): \(Numbers.grouped(most))", values: [Double(most)])
        }
    }

    /// Computes the mean section size of each column from the number of rows before the column's first section.
    /// O(columns x log n).
    private func means() throws -> [ColumnChart.Column] {
        let width = (order.sectionCount + Self.mostColumns - 1) / Self.mostColumns
        let starts = try stride(from: 0, to: order.sectionCount, by: width).map { ($0, try order.section(at: $0)) }
        return starts.indices.map { index in
            let (first, section) = starts[index]
            let isLast = index == starts.count - 1
            let end = isLast ? order.rowCount : starts[index + 1].1.rowsBefore
            let count = (isLast ? order.sectionCount : starts[index + 1].0) - first
            let mean = Double(end - section.rowsBefore) / Double(count)
            return ColumnChart.Column(
                title: "\(count) sections from \(shownName(section)): \(Numbers.rounded(mean, places: 1)) rows each",
                values: [mean])
        }
    }

    private func shownName(_ section: FetchedSection) -> String {
        guard let title = titles.title(of: section) else { return "no value" }
        return title.isEmpty ? "empty text" : title.shortened(to: Self.mostNameLength)
    }
}
