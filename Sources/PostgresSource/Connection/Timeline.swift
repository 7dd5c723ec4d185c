internal import FetchIndexPlatform

// Timelines of a server's log: a standby that takes over begins a new one. Of a replication connection. PostgreSQL documentation, 26.3.6
// "Timelines", and 55.4 "Streaming Replication Protocol": IDENTIFY_SYSTEM, TIMELINE_HISTORY.
extension Connection {
    /// The timeline of the log that is written now. Throws `SourceError`.
    func timeline() throws -> UInt32 {
        guard let text = try execute("IDENTIFY_SYSTEM").first?.dropFirst().first ?? nil, let number = UInt32(text)
        else {
            throw SourceError(.refused, "the source does not tell the timeline of its log")
        }
        return number
    }

    /// Where a timeline ended from which the given one comes; nil where it does not come from it. Throws `SourceError`.
    func end(ofTimeline number: UInt32, before current: UInt32) throws -> LogPosition? {
        // The first has no history.
        if current <= 1 { return nil }
        let history = try execute("TIMELINE_HISTORY \(current)", columns: 2).first?[1] ?? ""
        for line in history.split(separator: "\n") {
            let fields = line.split { $0 == "\t" || $0 == " " }
            if fields.count >= 2, UInt32(fields[0]) == number { return LogPosition(String(fields[1])) }
        }
        return nil
    }
}
