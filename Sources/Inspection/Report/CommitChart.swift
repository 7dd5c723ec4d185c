internal import FetchIndexInspection
internal import FetchIndex

/// A chart of the objects that the commits of the log inserted, updated and deleted, by hour or by several hours.
struct CommitChart {
    private static let mostColumns = 240
    private static let leastHours = 24.0

    private struct Hours {
        var commits = 0
        var (inserted, updated, deleted) = (0, 0, 0)
    }

    private let commits: [CommitCounts]

    /// Reads the commits of the log. O(k log n) for k commits. Throws `StoreError`.
    init(_ state: PinnedState) throws {
        commits = try state.commits().filter { $0.time.isFinite && abs($0.time) < 1e12 }
    }

    /// Makes the chart. Returns nil if no commit of the log has a plausible time, or if the times are implausibly far
    /// apart.
    func figure() -> Figure? {
        let times = commits.map { ($0.time / 3600).rounded(.down) }
        guard let last = times.max(), let first = times.min().map({ min($0, last - Self.leastHours + 1) }),
            last - first < 1e7
        else { return nil }
        // Hours per column.
        let width = max(1, (Int(last - first) + Self.mostColumns) / Self.mostColumns)
        var hours = [Hours](repeating: Hours(), count: Int(last - first) / width + 1)
        for (time, commit) in zip(times, commits) {
            let index = Int(time - first) / width
            hours[index].commits += 1
            hours[index].inserted &+= commit.inserted
            hours[index].updated &+= commit.updated
            hours[index].deleted &+= commit.deleted
        }
        let chart = ColumnChart(
            hours.enumerated().map { index, hour in
                let begin = Clock.iso8601((first + Double(index * width)) * 3600)
                return ColumnChart.Column(
                    title:
                        "\(begin): \(Numbers.count(hour.commits, "commit")), \(Numbers.grouped(hour.inserted)) inserted, "
                        + "\(Numbers.grouped(hour.updated)) updated, \(Numbers.grouped(hour.deleted)) deleted",
                    values: [hour.inserted, hour.updated, hour.deleted].map(Double.init))
            }, styles: ["inserted", "updated", "deleted"])
        let unit = width == 1 ? "an hour" : "\(width) hours"
        return Figure(
            title: "Changed objects by hour", top: Numbers.grouped(Int(clamping: Int64(min(chart.greatest, 9e18)))),
            svg: chart.svg(title: "Changed objects by hour"), left: Clock.iso8601(first * 3600),
            right: Clock.iso8601((last + 1) * 3600),
            note: "\(Numbers.count(commits.count, "commit")) in the log; a column is \(unit)")
    }
}
