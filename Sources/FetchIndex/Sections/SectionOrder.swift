internal import FetchIndexOrderCaches
public import FetchIndexValues

/// The order in which sections stand.
public enum SectionOrder: Hashable, Sendable {
    /// By each section's first row, under the sort keys.
    case byFirstRow
    /// By name; numbers and booleans by value, whatever the text order.
    case byName(descending: Bool = false, TextOrder = .binary)
    /// By the number of rows; equal numbers by the section's value.
    case byCount(descending: Bool = true)

    var shape: OrderShape.SectionOrder {
        switch self {
        case .byFirstRow: .byFirstRow
        case .byName(let descending, let textOrder): .byName(descending: descending, textOrder)
        case .byCount(let descending): .byCount(descending: descending)
        }
    }
}
