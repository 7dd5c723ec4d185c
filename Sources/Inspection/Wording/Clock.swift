internal import FetchIndexValues
internal import FetchIndexEssentials

package enum Clock {
    /// Formats seconds since 1970 as ISO 8601 in UTC, rounded down to whole seconds.
    package static func iso8601(_ seconds: Double) -> String {
        Value.date(Date(timeIntervalSince1970: seconds.rounded(.down))).description
    }
}
