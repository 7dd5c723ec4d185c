public import FetchIndexValues

/// The order of sections.
public enum SectionOrder: Hashable, Sendable {
    /// Ordered by each section's first row, under the sort keys.
    case byFirstRow
    /// Ordered by name; numbers and booleans by value, regardless of the text order.
    case byName(descending: Bool = false, TextOrder = .binary)
    /// Ordered by the number of rows; equal numbers by the section's value, or by name if sections are related objects.
    case byCount(descending: Bool = true)
}
