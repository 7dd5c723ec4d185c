internal import FetchIndexTerminal
internal import FetchIndexInspection

/// A table for people, with a heading and right-aligned numbers. A cell is cut to 48 terminal columns, and a line to
/// `width`.
///
/// A column is as wide as its title and its cells in the first 500 rows, which are collected to determine the widths.
/// Later rows are printed immediately. A later cell that is wider than its column shifts the rest of its line to the
/// right.
struct TextTable {
    struct Column {
        let title: String
        var isNumber = false
    }

    private static let maximumCellWidth = 48
    private static let gap: [UInt8] = [0x20, 0x20]
    /// The maximum number of rows that are collected before the first is printed.
    private static let sampledRows = 500

    /// The bytes of a cell as they are printed, and the number of terminal columns that they take.
    private struct Cell {
        let bytes: [UInt8]
        let width: Int
    }

    private let columns: [Column]
    private let width: Int
    private let print: ([UInt8]) -> Void
    private var rows: [[Cell]] = []
    private var row: [Cell] = []
    /// The widths of the columns; nil until the heading is printed.
    private var widths: [Int]?
    private var line: [UInt8] = []

    /// Lines are cut to `width` terminal columns.
    init(_ columns: [Column], width: Int = Output.width, print: @escaping ([UInt8]) -> Void = { Output.bytes($0) }) {
        self.columns = columns
        self.width = width
        self.print = print
    }

    mutating func append(_ cells: [String]) {
        begin()
        for cell in cells { add(cell) }
        end()
    }

    /// Begins a row. The caller then calls `add` for each column, and `end` after the last one.
    mutating func begin() { row.removeAll(keepingCapacity: true) }

    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    }

    mutating func add(_ text: UnsafeRawBufferPointer) { row.append(Self.cell(text)) }

    mutating func end() {
        if let widths { return printLine(row, widths) }
        rows.append(row)
        if rows.count == Self.sampledRows { printFirst() }
    }

    /// Prints the heading and the collected rows, unless they have been printed.
    mutating func finish() { if widths == nil { printFirst() } }

    private mutating func printFirst() {
        let titles = columns.map { column in
            var title = column.title
            return title.withUTF8 { Self.cell(UnsafeRawBufferPointer($0)) }
        }
        let widths = columns.indices.map { index in
            max(titles[index].width, rows.reduce(0) { max($0, $1[index].width) })
        }
        self.widths = widths
        printLine(titles, widths)
        let rule = widths.map { String(repeating: "─", count: $0) }.joined(separator: "  ")
        print(Array((rule.fitted(to: width) + "\n").utf8))
        for row in rows { printLine(row, widths) }
        rows = []
    }

    private static func cell(_ text: UnsafeRawBufferPointer) -> Cell {
        let fitted = FittedText(text, width: maximumCellWidth)
        return Cell(bytes: fitted.bytes, width: fitted.width)
    }

    private mutating func printLine(_ cells: [Cell], _ widths: [Int]) {
        line.removeAll(keepingCapacity: true)
        var used = 0
        var ended = 0  // the length without trailing blanks
        for (index, cell) in cells.enumerated() {
            if index > 0 {
                line.append(contentsOf: Self.gap)
                used += 2
            }
            let blanks = max(0, widths[index] - cell.width)
            if columns[index].isNumber { line.append(contentsOf: repeatElement(0x20, count: blanks)) }
            line.append(contentsOf: cell.bytes)
            if !cell.bytes.isEmpty { ended = line.count }
            if !columns[index].isNumber { line.append(contentsOf: repeatElement(0x20, count: blanks)) }
            used += blanks + cell.width
        }
        let trimmed = used - (line.count - ended)
        line.removeLast(line.count - ended)
        if trimmed > width { line = line.withUnsafeBytes { FittedText($0, width: width).bytes } }
        line.append(0x0A)
        print(line)
    }
}
