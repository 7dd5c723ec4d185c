// Timelines of a server's log, which are read over a replication connection. A standby that takes over begins a new
// timeline. PostgreSQL documentation, "Timelines", and "Streaming Replication Protocol": IDENTIFY_SYSTEM,
// TIMELINE_HISTORY.
extension Connection {
    /// Returns the timeline of the log that the server writes now. Throws `SourceError`.
    func timeline() throws -> UInt32 {
        guard let text = try execute("IDENTIFY_SYSTEM").first?.dropFirst().first ?? nil, let number = UInt32(text)
        else {
            throw SourceError(.refused, "the source does not tell the timeline of its log")
        }
        return number
    }

    /// Returns the position at which timeline `number` ended, by the history of the timeline `current`. Returns nil if
    /// `current` doesn't descend from `number`. Throws `SourceError`.
    func end(ofTimeline number: UInt32, before current: UInt32) throws -> LogPosition? {
        // The first timeline has no history.
        if current <= 1 { return nil }
        let history = try execute("TIMELINE_HISTORY \(current)", columns: 2).first?[1] ?? ""
        for line in history.split(separator: "\n") {
            let fields = line.split { $0 == "\t" || $0 == " " }
            if fields.count >= 2, UInt32(fields[0]) == number { return LogPosition(String(fields[1])) }
        }
        return nil
    }
}
