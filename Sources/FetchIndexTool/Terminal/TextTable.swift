/// A table for people: a heading, columns as wide as they need, numbers to the right.
struct TextTable {
    struct Column {
        let title: String
        var isNumber = false
    }

    private static let maximumCellWidth = 48

    private let columns: [Column]
    private var rows: [[String]] = []

    init(_ columns: [Column]) { self.columns = columns }

    mutating func append(_ cells: [String]) { rows.append(cells.map { $0.fitted(to: Self.maximumCellWidth) }) }

    /// The lines of the table, cut at a width.
    func lines(width: Int) -> [String] {
        let widths = columns.indices.map { index in
            max(columns[index].title.displayWidth, rows.map { $0[index].displayWidth }.max() ?? 0)
        }
        func line(_ cells: [String]) -> String {
            let padded = columns.indices.map { cells[$0].padded(to: widths[$0], right: columns[$0].isNumber) }
            return padded.joined(separator: "  ").trimmingBlanks.fitted(to: width)
        }
        let rule = widths.map { String(repeating: "─", count: $0) }.joined(separator: "  ").fitted(to: width)
        return [line(columns.map(\.title)), rule] + rows.map(line)
    }

    func print() {
        for line in lines(width: Output.width) { Output.line(line) }
    }
}

extension String {
    fileprivate var trimmingBlanks: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
