/// The formats that catalogues are read from.
package enum CatalogueFormat: String, CaseIterable {
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

    /// Reads the names of the columns.
    package func open(_ path: String) throws -> any RowSource {
        switch self {
        case .csv: try CommaSeparatedSource(path)
        case .tsv: try TabSeparatedSource(path)
        case .jsonl: try JSONLinesSource(path)
        }
    }
}
