/// The formats that catalogues are read from.
package enum CatalogueFormat: String, CaseIterable, Sendable {
    case csv
    case tsv
    case jsonl

    /// The format that a file's name tells.
    package init?(path: String) {
        switch path.split(separator: ".").last?.lowercased() {
        case "csv": self = .csv
        case "tsv", "tab": self = .tsv
        case "jsonl", "ndjson": self = .jsonl
        default: return nil
        }
    }

    /// Reads the names of the columns. Throws `UnreadableFile` or `BadInput`.
    package func open(_ input: CatalogueInput) throws -> any RowSource {
        switch self {
        case .csv: try CommaSeparatedSource(input)
        case .tsv: try TabSeparatedSource(input)
        case .jsonl: try JSONLinesSource(input)
        }
    }
}
