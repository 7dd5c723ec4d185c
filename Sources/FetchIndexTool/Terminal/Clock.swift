internal import FetchIndex
internal import SystemBasics

enum Clock {
    /// Seconds since 1970 as ISO 8601 in UTC, to the second.
    static func iso8601(_ seconds: Double) -> String {
        Value.date(Date(timeIntervalSince1970: seconds.rounded(.down))).description
    }
}
