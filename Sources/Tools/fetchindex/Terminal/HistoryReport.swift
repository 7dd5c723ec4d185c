internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexInspection

/// The history of a cache, as JSON and as a table.
struct HistoryReport: Encodable {
    struct Opening: Encodable {
        let time: String
        let process: String
        let author: String
        let kind: String
        let reason: String?
        let rows: Int
        let milliseconds: Double
        let stored: Bool
    }

    struct Hour: Encodable {
        let hour: String
        let hits: Int
    }

    /// The recorded openings that weren't hits, oldest first.
    let openings: [Opening]
    let hitsByHour: [Hour]

    init(_ history: CacheHistory) {
        openings = history.openings.map { opening in
            let kind: String
            var reason: String?
            let rows: Int
            switch opening.kind {
            case .caughtUp(let count): (kind, rows) = ("caughtUp", count)
            case .rebuilt(let found, let count): (kind, reason, rows) = ("rebuilt", found.rawValue, count)
            }
            return Opening(
                time: Clock.iso8601(opening.date.timeIntervalSince1970), process: opening.processName,
                author: opening.author, kind: kind, reason: reason, rows: rows, milliseconds: opening.milliseconds,
                stored: opening.isStored)
        }
        hitsByHour = history.hitsByHour.map {
            Hour(hour: Clock.iso8601($0.hour.timeIntervalSince1970), hits: $0.count)
        }
    }

    private static let mostShown = 12

    /// Prints the numbers of hits, and a table of the last openings, newest first.
    func printTable() {
        if let last = hitsByHour.last {
            let hours = min(24, hitsByHour.count)
            let day = hitsByHour.suffix(24).reduce(0) { $0 + $1.hits }
            Output.line(
                "hits       \(Numbers.grouped(day)) in the last \(hours == 1 ? "hour" : Numbers.count(hours, "hour")) with hits, "
                    + "\(Numbers.grouped(last.hits)) in the hour of \(last.hour)"
            )
        }
        if openings.isEmpty { return }
        Output.line("")
        var table = TextTable([
            .init(title: "opened"), .init(title: "outcome"), .init(title: "rows", isNumber: true),
            .init(title: "ms", isNumber: true), .init(title: "by"),
        ])
        for opening in openings.suffix(Self.mostShown).reversed() {
            let outcome = opening.kind == "caughtUp" ? "caught up" : "rebuilt: \(opening.reason ?? "")"
            let who = opening.author.isEmpty ? opening.process : "\(opening.process), \(opening.author)"
            table.append([
                opening.time, outcome + (opening.stored ? "" : ", in memory"), Numbers.grouped(opening.rows),
                Numbers.rounded(opening.milliseconds, places: 1), who.visible,
            ])
        }
        table.finish()
        let left = openings.count - Self.mostShown
        if left > 0 { Output.line("… \(Numbers.count(left, "older opening")) (--output json)") }
    }
}
