internal import FetchIndexValues

/// The rows of several files with the same columns, one file after the other. The line number of a row includes the
/// number of its file: `FileLine`.
final class SeveralFiles: RowSource {
    private let sources: [any RowSource]

    /// Throws `UnreadableFile` if a file of CSV or TSV has other columns than the first one. JSON lines may lack
    /// members, so that their sources already have all columns of all files.
    init(_ sources: [any RowSource], _ paths: [String]) throws {
        self.sources = sources
        for (source, path) in zip(sources, paths) where source.columns != sources[0].columns {
            let lacking = sources[0].columns.filter { !source.columns.contains($0) }
            let reason =
                lacking.isEmpty
                ? "has more columns than \(paths[0]), or others in their order"
                : "lacks columns of \(paths[0]): \(lacking.joined(separator: ", ").excerpt)"
            throw UnreadableFile(path: path, reason: reason)
        }
    }

    var columns: [String] { sources[0].columns }

    var progress: (done: Int, total: Int) {
        let all = sources.map(\.progress)
        let isKnown = all.allSatisfy { $0.total > 0 }
        return (all.reduce(0) { $0 + $1.done }, isKnown ? all.reduce(0) { $0 + $1.total } : 0)
    }

    var decompressesAhead: Bool {
        get { sources[0].decompressesAhead }
        set { for source in sources { source.decompressesAhead = newValue } }
    }

    func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws {
        for (number, source) in sources.enumerated() {
            try source.forEachRow(
                { row in
                    if number == 0 { return try body(row) }
                    var row = row
                    row.line = FileLine(file: number, line: row.line).number
                    try body(row)
                }, bad: bad)
        }
    }

    func inferTypes(of asked: Set<Int>, key: String?) throws -> [ValueType] {
        let lines = sources.compactMap { $0 as? JSONLinesSource }
        // An empty file has no lines that could tell a type.
        if lines.isEmpty { return readTypes(of: asked, key: key) }
        return JSONLinesSource.types(ofAll: lines)
    }
}

/// A line of one of several files, and the number by which rows carry it.
struct FileLine {
    private static let bits = 40

    let file: Int
    let line: Int

    init(file: Int, line: Int) { (self.file, self.line) = (file, line) }

    init(number: Int) { self.init(file: number >> Self.bits, line: number & (1 << Self.bits - 1)) }

    /// The number; of the first file it is the line.
    var number: Int { file << Self.bits | line }
}
