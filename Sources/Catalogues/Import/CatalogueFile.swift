internal import FetchIndexValues

/// An opened file, whose rows can be read more than once.
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

    /// The file from its first row on.
    func reopened() throws -> any RowSource {
        let source = try format.open(input, told)
        source.decompressesAhead = decompressesAhead
        return source
    }

    /// Infers the types of some columns from all rows.
    func inferTypes(of asked: Set<Int>, key: String?) throws -> [ValueType] {
        // Opening JSON lines has read them for their members, and with them the types.
        let rows = source is JSONLinesSource ? source : try reopened()
        return try rows.inferTypes(of: asked, key: key)
    }

    /// Call it before the rows are imported: the first bytes of a pipe are then no longer retained.
    func endSampling() {
        input.endSampling()
        source.decompressesAhead = decompressesAhead
    }
}
