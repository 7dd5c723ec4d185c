/// Tab-separated values as IANA's text/tab-separated-values has them: no quoting; a field has neither tab nor line end.
final class TabSeparatedSource: RowSource {
    private let reader: FileReader
    private(set) var columns: [String] = []

    init(_ path: String) throws {
        reader = try FileReader(path)
        var row = FieldRow()
        let header = try FileReader(path)
        var splitter = LineSplitter()
        do {
            try splitter.forEachLine(of: header) { line, number in
                Self.split(line, number, into: &row)
                throw HeaderRead()
            }
        } catch is HeaderRead {}
        columns = try Columns.names(row, in: path)
    }

    var progress: (done: Int, total: Int) { (reader.position, reader.length) }

    func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws {
        var splitter = LineSplitter()
        var row = FieldRow()
        try splitter.forEachLine(of: reader) { line, number in
            guard number > 1, !line.isEmpty else { return }
            Self.split(line, number, into: &row)
            try body(row)
        }
    }

    private static func split(_ line: UnsafeRawBufferPointer, _ number: Int, into row: inout FieldRow) {
        row.begin(line: number)
        var start = 0
        while let end = line.firstOffset(of: 0x09, from: start) {
            row.append(UnsafeRawBufferPointer(rebasing: line[start..<end]))
            start = end + 1
        }
        row.append(UnsafeRawBufferPointer(rebasing: line[start...]))
    }
}

private struct HeaderRead: Error {}

enum Columns {
    /// The column names of a header row, which must be there, be UTF-8 and differ.
    static func names(_ row: FieldRow, in path: String) throws -> [String] {
        guard row.count > 0 else { throw Failure("\(path) is empty; its first line must name the columns") }
        var names: [String] = []
        for column in 0..<row.count {
            guard let name = String(validating: row.bytes[row.range(of: column)], as: UTF8.self), !name.isEmpty,
                !names.contains(name)
            else {
                throw BadInput(
                    file: path, line: row.line, column: column + 1,
                    reason: "the first line must name the columns, each with a name of its own in UTF-8")
            }
            names.append(name)
        }
        return names
    }
}
