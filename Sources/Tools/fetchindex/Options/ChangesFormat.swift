internal import ArgumentParser
internal import FetchIndexCatalogues

/// The format of printed changes.
enum ChangesFormat: String, ExpressibleByArgument, CaseIterable {
    case table
    case json
    case jsonl
    case csv
    case tsv
    case html
    case markdown

    /// The catalogue format of this name; nil for formats that have more than rows.
    var catalogue: CatalogueFormat? {
        switch self {
        case .jsonl: .jsonl
        case .csv: .csv
        case .tsv: .tsv
        case .table, .json, .html, .markdown: nil
        }
    }

    /// Whether the changes are printed as a report, for a mail or a page.
    var isReport: Bool { self == .html || self == .markdown }
}
