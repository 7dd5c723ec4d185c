/// Tab-separated values as IANA's text/tab-separated-values has them: no quoting; a field has neither tab nor line end.
package final class TabSeparatedSource: RowSource {
    private let reader: FileReader
    package private(set) var columns: [String] = []

    package init(_ path: String) throws {
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
        columns = try row.columnNames(in: path)
    }

    package var progress: (done: Int, total: Int) { (reader.position, reader.length) }

    package func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws {
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
