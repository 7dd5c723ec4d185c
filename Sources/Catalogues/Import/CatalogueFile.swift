internal import FetchIndexValues

/// The opened file or files of an import, whose rows can be read more than once before `endSampling`.
struct CatalogueFile {
    private let request: ImportRequest
    private let inputs: [CatalogueInput]
    private let told: ToldColumns
    private let decompressesAhead: Bool
    /// The rows that are imported.
    let source: any RowSource

    /// Throws `UnreadableFile`. If there are several files, empty ones are passed over.
    init(_ request: ImportRequest, _ inputs: [CatalogueInput], _ told: ToldColumns) throws {
        (self.request, self.inputs) = (request, inputs)
        decompressesAhead = request.threads > 1
        (source, self.told) = try Self.open(request, inputs, told)
    }

    private static func open(
        _ request: ImportRequest, _ inputs: [CatalogueInput], _ told: ToldColumns
    ) throws -> (any RowSource, ToldColumns) {
        if request.isDatabase { return (try SQLiteTable(inputs[0].path, table: request.table), told) }
        if inputs.count == 1 { return (try request.format.open(inputs[0], told), told) }
        var sources: [(any RowSource)?] = []
        var empty: UnreadableFile?
        for input in inputs {
            do { sources.append(try request.format.open(input, told)) } catch let error as UnreadableFile
                where error.isEmpty
            {
                empty = error
                sources.append(nil)
            }
        }
        let opened = sources.compactMap { $0 }
        if opened.isEmpty, let empty { throw empty }
        let names = Set(opened.flatMap(\.columns))
        let isWhole = request.format != .jsonl || opened.allSatisfy { $0.columns.count == names.count }
        // Opens JSON lines again if a file lacks members of others, which are columns of its rows too.
        if !isWhole { return try open(request, inputs, told.adding(names)) }
        return (try SeveralFiles(sources.map { $0 ?? EmptyFile(like: opened[0]) }, inputs.map(\.path)), told)
    }

    /// Opens the files again, at their first rows.
    func reopened() throws -> any RowSource {
        if request.isDatabase { return source }
        let source = try Self.open(request, inputs, told).0
        source.decompressesAhead = decompressesAhead
        return source
    }

    /// Infers the types of some columns: from all rows, or for JSON lines from the sampled lines.
    func inferTypes(of asked: Set<Int>, key: String?) throws -> [ValueType] {
        // A source of JSON lines inferred the types when it was opened, from the lines that it sampled. So it isn't
        // opened again.
        let rows = request.format == .jsonl ? source : try reopened()
        return try rows.inferTypes(of: asked, key: key)
    }

    /// Call this before the rows are imported: a pipe then retains no further bytes (`CatalogueInput.endSampling`).
    func endSampling() {
        for input in inputs { input.endSampling() }
        source.decompressesAhead = decompressesAhead
    }
}

/// A file without rows among others. It has the columns of another one.
private final class EmptyFile: RowSource {
    let columns: [String]
    let progress = (done: 1, total: 1)
    var decompressesAhead = false

    init(like other: any RowSource) { columns = other.columns }

    func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) {}

    func inferTypes(of asked: Set<Int>, key: String?) -> [ValueType] { columns.map { _ in .string } }
}
