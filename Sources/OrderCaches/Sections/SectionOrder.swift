public import FetchIndexValues

/// How the sections of a request are ordered.
public enum SectionOrder: Hashable, Sendable {
    /// Sections are ordered by their first rows, which are compared by the sort keys.
    case byFirstRow
    /// Sections are ordered by name. Numbers and booleans are compared by value, whatever the text order.
    case byName(descending: Bool = false, TextOrder = .binary)
    /// Sections are ordered by their numbers of rows. Sections with equally many rows are ordered by value, or by name
    /// if they are related objects.
    case byCount(descending: Bool = true)
}
