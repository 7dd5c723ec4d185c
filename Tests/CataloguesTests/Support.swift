import FetchIndexCatalogues

/// The rows and errors of a catalogue that was read.
struct Reading: Equatable {
    var columns: [String] = []
    var rows: [[String]] = []
    /// The numbers of the lines that the rows begin on.
    var lines: [Int] = []
    /// The errors of skipped lines.
    var bad: [String] = []
    /// The error that ended the reading.
    var error: String?

    init(
        _ format: CatalogueFormat, _ bytes: some Sequence<UInt8>, longestLine: Int = CatalogueInput.longestLine,
        pieceLength: Int = 1 << 16
    ) {
        self.init(
            format, CatalogueInput("f", bytes: Array(bytes), longestLine: longestLine, pieceLength: pieceLength))
    }

    init(_ format: CatalogueFormat, _ input: CatalogueInput, decompressesAhead: Bool = false) {
        do {
            let source = try format.open(input)
            source.decompressesAhead = decompressesAhead
            columns = source.columns
            try source.forEachRow(
                { row in
                    rows.append((0..<row.count).map { row.text(of: $0) })
                    lines.append(row.line)
                }, bad: { bad.append("\($0)") })
        } catch {
            self.error = "\(error)"
        }
    }

    init(_ format: CatalogueFormat, _ text: String, longestLine: Int = CatalogueInput.longestLine) {
        self.init(format, text.utf8, longestLine: longestLine)
    }
}
