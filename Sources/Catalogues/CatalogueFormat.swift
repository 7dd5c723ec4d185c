/// The formats of catalogues.
package enum CatalogueFormat: String, CaseIterable, Sendable {
    case csv
    case tsv
    case jsonl

    /// The format indicated by a file's name; for a compressed file, by the part before `.gz`, `.zst` or `.zstd`.
    package init?(path: String) {
        switch Self.ending(of: path) {
        case "csv": self = .csv
        case "tsv", "tab": self = .tsv
        case "jsonl", "ndjson": self = .jsonl
        default: return nil
        }
    }

    /// Whether a file's name says that it is a JSON document, and not JSON lines.
    package static func isDocument(path: String) -> Bool { ending(of: path) == "json" }

    /// Whether a file's name says that it is an SQLite database.
    package static func isDatabase(path: String) -> Bool {
        ["sqlite", "sqlite3", "db"].contains(path.split(separator: ".").last?.lowercased() ?? "")
    }

    private static func ending(of path: String) -> String? {
        var parts = path.split(separator: ".").map { $0.lowercased() }
        if parts.count > 1, let last = parts.last, ["gz", "zst", "zstd"].contains(last) { parts.removeLast() }
        return parts.last
    }

    /// Opens a source and reads its column names. Throws `UnreadableFile` or `BadInput`.
    package func open(_ input: CatalogueInput, _ told: ToldColumns = ToldColumns()) throws -> any RowSource {
        switch self {
        case .csv: try CommaSeparatedSource(input, told)
        case .tsv: try TabSeparatedSource(input, told)
        case .jsonl: try JSONLinesSource(input, told)
        }
    }
}
