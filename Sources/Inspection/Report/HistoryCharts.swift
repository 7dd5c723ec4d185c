internal import FetchIndexInspection
internal import FetchIndex
internal import FetchIndexEssentials

/// Makes charts and table rows of a cache's history.
enum HistoryCharts {
    private static let hour = 3600.0
    private static let leastHours = 24

    static func row(_ opening: CacheOpening) -> OpeningRow {
        let (text, style, rows) = words(opening)
        let author = opening.author.isEmpty ? "" : ", \(opening.author)"
        return OpeningRow(
            time: Clock.iso8601(opening.date.timeIntervalSince1970),
            outcome: text + (opening.isStored ? "" : ", in memory"), style: style, rows: Numbers.grouped(rows),
            duration: Numbers.duration(milliseconds: opening.milliseconds),
            who: (opening.processName + author).visible)
    }

    private static func words(_ opening: CacheOpening) -> (text: String, style: String, rows: Int) {
        switch opening.kind {
        case .caughtUp(let rows): ("caught up", "updated", rows)
        case .rebuilt(let reason, let rows): ("rebuilt: \(reason.rawValue)", "rebuilt", rows)
        }
    }

    /// Makes a chart of the recorded openings; hits aren't among them. Returns nil if the history has no openings.
    static func openings(_ history: CacheHistory) -> Figure? {
        guard let first = history.openings.first, let last = history.openings.last,
            let longest = history.openings.map(\.milliseconds).max()
        else { return nil }
        let events = history.openings.map { opening in
            let row = row(opening)
            return EventChart.Event(
                time: opening.date.timeIntervalSince1970, size: opening.milliseconds,
                title:
                    "\(row.time): \(row.outcome), \(row.rows) \(row.rows == "1" ? "row" : "rows"), \(row.duration), \(row.who)",
                style: row.style)
        }
        return Figure(
            title: "Openings other than hits", top: Numbers.duration(milliseconds: longest),
            svg: EventChart(events).svg(title: "Openings other than hits"),
            left: Clock.iso8601(first.date.timeIntervalSince1970),
            right: Clock.iso8601(last.date.timeIntervalSince1970), note: "heights are logarithms of durations")
    }

    /// Makes a chart of the hits by hour. Returns nil if the history has no hits.
    static func hits(_ history: CacheHistory) -> Figure? {
        let hours = history.hitsByHour.map { (Int(($0.hour.timeIntervalSince1970 / hour).rounded(.down)), $0.count) }
        guard let last = hours.last?.0, let first = hours.first.map({ min($0.0, last - leastHours + 1) }) else {
            return nil
        }
        let counts = Dictionary(hours) { $0 + $1 }
        let columns = (first...last).map { number in
            let count = counts[number] ?? 0
            return ColumnChart.Column(
                title: "\(Clock.iso8601(Double(number) * hour)): \(Numbers.count(count, "hit"))",
                values: [Double(count)])
        }
        let chart = ColumnChart(columns, styles: ["hit"])
        return Figure(
            title: "Hits by hour", top: Numbers.grouped(Int(chart.greatest)), svg: chart.svg(title: "Hits by hour"),
            left: Clock.iso8601(Double(first) * hour), right: Clock.iso8601(Double(last + 1) * hour))
    }
}
