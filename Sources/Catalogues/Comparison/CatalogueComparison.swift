package import FetchIndex
internal import FetchIndexModels
internal import FetchIndexPlatform

/// Compares two catalogue files by the keys of their rows:
///
/// - makes an entity of the columns of both, with the types of the first file, in an empty store: `EntityPreparation`
/// - reads both files at once, without storing their rows: `KeyedRows`
/// - compares rows with the same key: `RowComparison`
package struct CatalogueComparison {
    /// A file. Both files have the same key and entity.
    package struct Input {
        package var request: ImportRequest
        /// The numbers of the rows, in the order of the file; empty if rows are numbered by their places.
        package var numbers: [UInt64] = []

        package init(_ request: ImportRequest) { self.request = request }
    }

    private let container: PersistentContainer
    private let inputs: [Input]

    /// `container` is an empty temporary store.
    package init(_ first: Input, _ second: Input, in container: PersistentContainer) {
        inputs = [first, second]
        self.container = container
    }

    /// Reads and compares the files; nil if both are empty. `progress` gets the number of rows of the first file that
    /// were read so far, and their fraction. New rows are numbered from `nextNumber`. Throws like `CatalogueImport.run`,
    /// but the errors of rows are of the type `BadInput`.
    package func run(
        nextNumber: UInt64? = nil, progress: (_ rows: Int, _ fraction: Double) -> Void
    ) throws -> RowComparison? {
        let files = try inputs.map { try file(of: $0.request) }
        guard let entity = inputs.first?.request.entity, files.contains(where: { $0 != nil }) else { return nil }
        let writer = try BatchWriter(container, entity: entity, key: inputs.first?.request.key)
        let rows = try inputs.map { try KeyedRows(of: writer, numbers: $0.numbers) }
        func readFile(_ index: Int) throws {
            var count = 0
            if let file = files[index] {
                try read(file, inputs[index].request, writer) { batch in
                    try rows[index].append(batch.rows) { line, error in
                        throw inputs[index].request.badInput(line: line, reason: error.description)
                    }
                    count += batch.rowCount
                    if index > 0 { return }
                    progress(count, Double(batch.progress.done) / Double(max(batch.progress.total, 1)))
                }
            }
            try rows[index].index()
        }
        let threads = inputs.map(\.request.threads).max() ?? 1
        if threads > 1 {
            try Threads.run(inputs.count, readFile)
        } else {
            for index in inputs.indices { try readFile(index) }
        }
        return try RowComparison(rows[0], rows[1], of: writer, nextNumber: nextNumber, threads: threads)
    }

    /// Opens a file, and makes or changes the entity so that the rows fit it; nil for an empty file.
    private func file(of request: ImportRequest) throws -> CatalogueFile? {
        var request = request
        if try container.model().entity(named: request.entity) != nil {
            request.addsColumns = true
            // The types of the first file.
            request.types = GivenTypes()
        }
        let file: CatalogueFile
        do { file = try CatalogueImport(request).openFile() } catch let error as UnreadableFile where error.isEmpty {
            return nil
        }
        try container.migrate(to: EntityPreparation(request, container, file).fittingModel())
        file.endSampling()
        return file
    }

    private func read(
        _ file: CatalogueFile, _ request: ImportRequest, _ writer: BatchWriter, _ body: (ReadRows) throws -> Void
    ) throws {
        let related = try RelatedColumns(
            file.source.columns, to: writer.entity, in: container.pinnedState().model, request,
            NumberOwner(for: writer, isKeyed: true))
        let converter = try RowConverter(file.source.columns, to: writer.entity, request, related, mayUpdate: false)
        var reading = RowReading(file.source, converter, skipsBadRows: false)
        try reading.run(body)
    }
}
