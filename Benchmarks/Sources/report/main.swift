import Foundation

// usage: report JMH.json [FIGURES.json] OUT.json OUT.svg | --compare OLD.json NEW.json
// Pairs the results of both sides, prints a table, and writes it as JSON and the costs against rows as a plot.

struct Result: Decodable {
    struct Metric: Decodable {
        let scorePercentiles: [String: Double]
        let scoreUnit: String
    }

    let benchmark: String
    let secondaryMetrics: [String: Metric]

    var wallClock: Metric? { secondaryMetrics["Time (wall clock)"] }
}

struct Figure: Codable {
    let question: String
    let rows: Int
    let value: Double
    let limit: Double?
    let unit: String
}

struct Pair: Codable {
    let question: String
    let rows: Int
    /// Median seconds.
    var ours: Double?
    var peer: Double?
    /// What the peer is: SQLite through GRDB, or our own rebuild.
    var peerName = ""
    var ratio: Double?
    /// Of our times: from the 25th to the 75th percentile, as a share of the median.
    var spread: Double?
}

struct Report: Codable {
    /// What was measured, where and when: FETCHINDEX_BENCHMARK_COMMIT, _MACHINE and the date.
    var commit: String?
    var machine: String?
    var date: String?
    let pairs: [Pair]
    let figures: [Figure]
}

func seconds(_ metric: Result.Metric, percentile: Int = 50) -> Double {
    let score = metric.scorePercentiles["\(percentile).0"] ?? metric.scorePercentiles["\(percentile)"] ?? 0
    switch metric.scoreUnit.prefix(while: { $0 != "/" }) {
    case "ns": return score / 1e9
    case "μs", "us", "µs": return score / 1e6  // two code points look alike
    case "ms": return score / 1e3
    default: return score
    }
}

func duration(_ seconds: Double?) -> String {
    guard let seconds else { return "–" }
    if seconds < 1e-3 { return String(format: "%.1f µs", seconds * 1e6) }
    return seconds < 1 ? String(format: "%.2f ms", seconds * 1e3) : String(format: "%.2f s", seconds)
}

func pairs(_ results: [Result]) -> [Pair] {
    var pairs: [String: Pair] = [:]
    for result in results {
        // package.benchmark.TARGET.question_|_rows_|_side
        let title = result.benchmark.split(separator: ".").dropFirst(3).joined(separator: ".")
        let parts = title.replacingOccurrences(of: "_", with: " ").split(separator: "|")
            .map { $0.trimmingCharacters(in: .whitespaces) }
        guard parts.count == 3, let rows = Int(parts[1]), let wallClock = result.wallClock else { continue }
        let name = parts[0]
        var pair = pairs["\(name) \(rows)"] ?? Pair(question: name, rows: rows)
        if parts[2] == "ours" {
            let ours = seconds(wallClock)
            pair.ours = ours
            if ours > 0 {
                pair.spread = (seconds(wallClock, percentile: 75) - seconds(wallClock, percentile: 25)) / ours
            }
        } else {
            pair.peer = seconds(wallClock)
            pair.peerName = parts[2] == "peer" ? "SQLite" : parts[2]
        }
        if let ours = pair.ours, let peer = pair.peer, ours > 0 { pair.ratio = peer / ours }
        pairs["\(name) \(rows)"] = pair
    }
    return pairs.values.sorted { ($0.question, $0.rows) < ($1.question, $1.rows) }
}

func printTable(_ report: Report) {
    let header = ["question", "rows", "ours", "peer", "", "peer / ours"]
    let lines = report.pairs.map { pair in
        [
            pair.question, "\(pair.rows)", duration(pair.ours), duration(pair.peer), pair.peerName,
            pair.ratio.map { String(format: $0 < 10 ? "%.2f" : "%.0f", $0) } ?? "–",
        ]
    }
    let widths = header.indices.map { column in ([header] + lines).map { $0[column].count }.max() ?? 0 }
    for line in [header] + lines {
        let cells = line.indices.map { line[$0].padding(toLength: widths[$0], withPad: " ", startingAt: 0) }
        print(cells.joined(separator: "  "))
    }
    for figure in report.figures {
        let limit = figure.limit.map { " (at most \($0))" } ?? ""
        print("\(figure.question), \(figure.rows) rows: \(String(format: "%.2f", figure.value)) \(figure.unit)\(limit)")
    }
}

/// Costs against rows, both axes logarithmic: ours as full lines, peers as broken ones.
func plot(_ pairs: [Pair]) -> String {
    let (width, height, left, bottom) = (760.0, 420.0, 70.0, 50.0)
    let colours = ["#1b6ca8", "#c0392b", "#27864a", "#8e44ad", "#d68910"]
    let costs = pairs.flatMap { [$0.ours, $0.peer] }.compactMap { $0 }.filter { $0 > 0 }.map(log10)
    let rows = pairs.map { log10(Double($0.rows)) }
    guard let lowest = costs.min(), let highest = costs.max(), let fewest = rows.min(), let most = rows.max() else {
        return ""
    }
    func x(_ rows: Int) -> Double {
        left + (log10(Double(rows)) - fewest) / max(most - fewest, 1e-9) * (width - left - 240)
    }
    func y(_ cost: Double) -> Double {
        20 + (highest - log10(cost)) / max(highest - lowest, 1e-9) * (height - bottom - 20)
    }
    var svg =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(width) \(height)\" font-family=\"sans-serif\" font-size=\"11\">\n"
    svg += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    for power in Int(lowest.rounded(.down))...Int(highest.rounded(.up)) {
        let cost = pow(10, Double(power))
        guard y(cost) > 10, y(cost) < height - bottom + 10 else { continue }
        svg += "<path d=\"M\(left) \(y(cost))H\(width - 230)\" stroke=\"#ddd\"/>"
        svg += "<text x=\"\(left - 6)\" y=\"\(y(cost) + 4)\" text-anchor=\"end\">\(duration(cost))</text>\n"
    }
    for count in Set(pairs.map(\.rows)).sorted() {
        svg += "<text x=\"\(x(count))\" y=\"\(height - 28)\" text-anchor=\"middle\">\(count)</text>\n"
    }
    svg += "<text x=\"\((width - 230 + left) / 2)\" y=\"\(height - 10)\" text-anchor=\"middle\">rows</text>\n"
    for (index, question) in Set(pairs.map(\.question)).sorted().enumerated() {
        let colour = colours[index % colours.count]
        let series = pairs.filter { $0.question == question }
        for (costs, dash, side) in [(series.map(\.ours), "", "ours"), (series.map(\.peer), "5 4", series[0].peerName)] {
            let points = zip(series, costs).compactMap { pair, cost in cost.map { "\(x(pair.rows)),\(y($0))" } }
            svg +=
                "<polyline points=\"\(points.joined(separator: " "))\" fill=\"none\" stroke=\"\(colour)\" stroke-width=\"2\" stroke-dasharray=\"\(dash)\"/>\n"
            let line = 30.0 + Double(index) * 36 + (side == "ours" ? 0 : 16)
            svg +=
                "<path d=\"M\(width - 222) \(line - 4)h24\" stroke=\"\(colour)\" stroke-width=\"2\" stroke-dasharray=\"\(dash)\"/>"
            svg += "<text x=\"\(width - 192)\" y=\"\(line)\">\(question): \(side)</text>\n"
        }
    }
    return svg + "</svg>\n"
}

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "--compare", arguments.count == 3 {
    func read(_ path: String) throws -> Report {
        try JSONDecoder().decode(Report.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }
    let isSlower = try Comparison(of: read(arguments[1]), with: read(arguments[2])).print()
    exit(isSlower ? 1 : 0)
}
guard arguments.count >= 3 else {
    print("usage: report JMH.json [FIGURES.json] OUT.json OUT.svg | --compare OLD.json NEW.json")
    exit(2)
}
let results = try JSONDecoder().decode([Result].self, from: Data(contentsOf: URL(fileURLWithPath: arguments[0])))
let figures =
    arguments.count > 3
    ? try JSONDecoder().decode([Figure].self, from: Data(contentsOf: URL(fileURLWithPath: arguments[1]))) : []
let environment = ProcessInfo.processInfo.environment
let report = Report(
    commit: environment["FETCHINDEX_BENCHMARK_COMMIT"], machine: environment["FETCHINDEX_BENCHMARK_MACHINE"],
    date: Date().ISO8601Format(), pairs: pairs(results), figures: figures)
printTable(report)
let encoder = JSONEncoder()
encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
try encoder.encode(report).write(to: URL(fileURLWithPath: arguments[arguments.count - 2]))
try plot(report.pairs).write(toFile: arguments[arguments.count - 1], atomically: true, encoding: .utf8)
