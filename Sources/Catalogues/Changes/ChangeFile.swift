internal import FetchIndexPlatform

/// A file of changes: JSON lines, or rows of CSV or TSV.
///
///     {"op":"update","key":1,"values":{"price":5}}        a blank line ends a transaction
///
///     op,id,price                                         the file is one transaction
///     update,1,5
///
/// A row has the operation in the column `op` and the key in the key's own column. Each other column is a value of an
/// insertion, an update or an upsert; an empty field is null. In a deletion the other columns are ignored.
package struct ChangeFile {
    package static let operationColumn = "op"

    private let input: CatalogueInput
    private let format: CatalogueFormat
    private let keyColumn: String
    private let areListsText: Bool

    /// Opens a pipe; files are opened when they are read. `keyColumn` is the column of CSV and TSV with the keys.
    package init(
        _ path: String, _ format: CatalogueFormat, delimiter: UInt8? = nil, keyColumn: String, areListsText: Bool
    ) throws {
        var input = try CatalogueInput.opening(path)
        input.delimiter = delimiter
        self.input = input
        (self.format, self.keyColumn, self.areListsText) = (format, keyColumn, areListsText)
    }

    /// Calls `apply` with each change and the number of its line, and `endTransaction` after each transaction. Throws
    /// `UnreadableFile`, `BadInput`, and what the closures throw.
    package func forEachChange(
        _ apply: (ChangeLine, Int) throws -> Void, endTransaction: () throws -> Void
    ) throws {
        switch format {
        case .jsonl: try forEachLine(apply, endTransaction)
        case .csv, .tsv: try forEachRow(apply)
        }
        try endTransaction()
    }

    private func forEachLine(
        _ apply: (ChangeLine, Int) throws -> Void, _ endTransaction: () throws -> Void
    ) throws {
        let splitter = try LineSplitter(input)
        input.endSampling()
        try splitter.forEachLine(
            { line, number in
                if line.isBlank { return try endTransaction() }
                try apply(ChangeLine(line, number, in: input.path, areListsText: areListsText), number)
            }, tooLong: { throw $0 })
    }

    private func forEachRow(_ apply: (ChangeLine, Int) throws -> Void) throws {
        let source: any RowSource
        do { source = try format.open(input) } catch let error as UnreadableFile where error.isEmpty {
            return  // An empty file has no changes, like one of JSON lines.
        }
        input.endSampling()
        let columns = source.columns
        func place(_ name: String) throws -> Int {
            guard let place = columns.firstIndex(of: name) else {
                throw UnreadableFile(
                    path: input.path,
                    reason: "has no column \"\(name.excerpt)\", only \(columns.joined(separator: ", ").excerpt)")
            }
            return place
        }
        let (operation, key) = (try place(Self.operationColumn), try place(keyColumn))
        let others = columns.indices.filter { $0 != operation && $0 != key }
        try source.forEachRow(
            { row in
                func bad(_ reason: String) -> BadInput { BadInput(file: input.path, line: row.line, reason: reason) }
                func scalar(_ column: Int) throws -> JSONScalar {
                    if row.isNull(column) { return .null }
                    guard row.isASCII || row[column].withUnsafeBytes({ $0.firstInvalidUTF8 == nil }) else {
                        throw bad("\"\(row.excerpt(of: column))\" for \(columns[column].excerpt) is not valid UTF-8")
                    }
                    return .string(row.text(of: column))
                }
                guard row.count == columns.count else {
                    throw bad("it has \(row.count) fields, and the header has \(columns.count)")
                }
                let name = row.text(of: operation)
                guard let kind = ChangeLine.Operation(rawValue: name) else {
                    throw bad(ChangeLine.Operation.unknown(name))
                }
                let keyValue = try scalar(key)
                var values: [String: JSONScalar] = [:]
                if kind != .delete { for column in others { values[columns[column]] = try scalar(column) } }
                try apply(ChangeLine(kind, key: keyValue == .null ? nil : keyValue, values: values), row.line)
            }, bad: { throw $0 })
    }
}

/// A file of keys, one on each line, whose objects are deleted. A key is the text that a field of CSV has; empty lines
/// are skipped.
package struct KeyFile {
    private let input: CatalogueInput
    private let splitter: LineSplitter

    /// Opens the file. Throws `UnreadableFile`.
    package init(_ path: String) throws {
        input = try CatalogueInput.opening(path)
        splitter = try LineSplitter(input)
        input.endSampling()
    }

    /// Calls `apply` with a deletion for each key and the number of its line. Throws `UnreadableFile`, `BadInput`, and
    /// what the closure throws.
    package func forEachDeletion(_ apply: (ChangeLine, Int) throws -> Void) throws {
        try splitter.forEachLine(
            { line, number in
                if line.isEmpty { return }
                guard let text = String(validating: line, as: UTF8.self) else {
                    throw BadInput(file: input.path, line: number, reason: "it is not valid UTF-8")
                }
                try apply(ChangeLine(.delete, key: .string(text)), number)
            }, tooLong: { throw $0 })
    }
}
