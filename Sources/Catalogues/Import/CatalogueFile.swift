internal import FetchIndexValues

/// An opened file, whose rows can be read more than once before `endSampling`.
struct CatalogueFile {
    private let format: CatalogueFormat
    private let input: CatalogueInput
    private let told: ToldColumns
    private let decompressesAhead: Bool
    /// The rows that are imported.
    let source: any RowSource

    init(_ request: ImportRequest, _ input: CatalogueInput, _ told: ToldColumns) throws {
        (format, self.input, self.told) = (request.format, input, told)
        decompressesAhead = request.threads > 1
        source = try format.open(input, told)
    }

    /// Opens the file again, at its first row.
    func reopened() throws -> any RowSource {
        let source = try format.open(input, told)
        source.decompressesAhead = decompressesAhead
        return source
    }

    /// Infers the types of some columns: from all rows, or for JSON lines from the sampled lines.
    func inferTypes(of asked: Set<Int>, key: String?) throws -> [ValueType] {
        // A `JSONLinesSource` inferred the types when it was opened, from the lines that it sampled. So it isn't opened
        // again.
        let rows = source is JSONLinesSource ? source : try reopened()
        return try rows.inferTypes(of: asked, key: key)
    }

    /// Call this before the rows are imported: a pipe then retains no further bytes (`CatalogueInput.endSampling`).
    func endSampling() {
        input.endSampling()
        source.decompressesAhead = decompressesAhead
    }
}
