// Timelines of a server's log, which a replication connection tells: a standby that takes over begins a new one.
// PostgreSQL documentation, 26.3.6 "Timelines", and 55.4 "Streaming Replication Protocol": IDENTIFY_SYSTEM,
// TIMELINE_HISTORY.
extension Connection {
    /// The timeline that the server writes now. Throws `SourceError`.
    func timeline() throws -> UInt32 {
        guard let text = try execute("IDENTIFY_SYSTEM").first?.dropFirst().first ?? nil, let number = UInt32(text)
        else {
            throw SourceError(.refused, "the source does not tell the timeline of its log")
        }
        return number
    }

    /// The position at which a timeline ended and was continued by the current one; nil if the current one doesn't
    /// descend from it. Throws `SourceError`.
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
