import Foundation

// usage: report RESULTS.influx.csv FIGURES.json OUT.json
//        report --compare | --regressions OLD.json NEW.json [AGAIN.influx.csv...]
//
// Pairs the results of both sides, prints a table, and writes the pairs and the figures as JSON. --compare prints the
// lines that became slower or faster since another run. --regressions prints patterns that select the slower
// benchmarks, so that they can be measured again. AGAIN has the results of these further measurements.

/// The times of one benchmark in seconds, by percentile.
///
/// The times are read from the harness's CSV for InfluxDB, because its JMH file left out times of two seconds and more.
struct Result {
    let name: String
    var seconds: [Int: Double] = [:]

    static func all(at path: String) throws -> [Result] {
        var results: [String: Result] = [:]
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
            // The fields are
            // measurement,host,processor,processors,memory,kernel,metric,unit,NAME,percentile,value,average,iterations,warm-up,time. A
            // name with commas is in quotation marks; the other fields have neither.
            let fields = line.split(separator: ",", omittingEmptySubsequences: false)
            guard fields.count >= 15, fields[6] == "Time(wallclock)", let percentile = Double(fields[fields.count - 6]),
                let nanoseconds = Double(fields[fields.count - 5])
            else { continue }
            let name = fields[8..<fields.count - 6].joined(separator: ",").replacing("\"", with: "")
            results[name, default: Result(name: name)].seconds[Int(percentile)] = nanoseconds / 1e9
        }
        return Array(results.values)
    }
}

struct Figure: Codable {
    let question: String
    let rows: Int
    let value: Double
    let limit: Double?
    let unit: String
}

struct Pair: Codable {
    static let sqlite = "SQLite"

    let question: String
    let rows: Int
    /// FetchIndex's median time in seconds.
    var ours: Double?
    /// The peer's median time in seconds.
    var peer: Double?
    /// The name of the peer: SQLite through GRDB, or FetchIndex used in another way.
    var peerName = ""
    var ratio: Double?
    /// The spread of FetchIndex's times: the distance from the 25th to the 75th percentile, divided by the median.
    var spread: Double?
}

struct Report: Codable {
    /// The measured commit, from FETCHINDEX_BENCHMARK_COMMIT.
    var commit: String?
    /// The machine, from FETCHINDEX_BENCHMARK_MACHINE.
    var machine: String?
    /// The time of the report.
    var date: String?
    let pairs: [Pair]
    let figures: [Figure]
}

func duration(_ seconds: Double?) -> String {
    guard let seconds else { return "–" }
    if seconds < 1e-3 { return String(format: "%.1f µs", seconds * 1e6) }
    return seconds < 1 ? String(format: "%.2f ms", seconds * 1e3) : String(format: "%.2f s", seconds)
}

func pairs(_ results: [Result]) -> [Pair] {
    var pairs: [String: Pair] = [:]
    for result in results {
        // question | rows | side
        let parts = result.name.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        guard parts.count == 3, let rows = Int(parts[1]), let median = result.seconds[50] else { continue }
        let name = parts[0]
        var pair = pairs["\(name) \(rows)"] ?? Pair(question: name, rows: rows)
        if parts[2] == "ours" {
            pair.ours = median
            if median > 0, let low = result.seconds[25], let high = result.seconds[75] {
                pair.spread = (high - low) / median
            }
        } else {
            pair.peer = median
            pair.peerName = parts[2] == "peer" ? Pair.sqlite : parts[2]
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
        let limit = figure.limit.map { String(format: " (at most %.3g)", $0) } ?? ""
        let value = String(format: figure.value < 0.1 ? "%.3f" : "%.2f", figure.value)
        print("\(figure.question), \(figure.rows) rows: \(value) \(figure.unit)\(limit)")
    }
}

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.count >= 3, let option = arguments.first, ["--compare", "--regressions"].contains(option) {
    func read(_ path: String) throws -> Report {
        try JSONDecoder().decode(Report.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }
    let again = try arguments.dropFirst(3).flatMap { pairs(try Result.all(at: $0)) }
    let comparison = try Comparison(of: read(arguments[1]), with: read(arguments[2]), again: again)
    if option == "--compare" { exit(comparison.print() ? 1 : 0) }
    for pattern in comparison.regressions { print(pattern) }
    exit(0)
}
guard arguments.count == 3 else {
    print("usage: report RESULTS.influx.csv FIGURES.json OUT.json")
    print("       report --compare | --regressions OLD.json NEW.json [AGAIN.influx.csv...]")
    exit(2)
}
let results = try Result.all(at: arguments[0])
let figures = try JSONDecoder().decode([Figure].self, from: Data(contentsOf: URL(fileURLWithPath: arguments[1])))
let environment = ProcessInfo.processInfo.environment
let report = Report(
    commit: environment["FETCHINDEX_BENCHMARK_COMMIT"], machine: environment["FETCHINDEX_BENCHMARK_MACHINE"],
    date: Date().ISO8601Format(), pairs: pairs(results), figures: figures)
printTable(report)
let encoder = JSONEncoder()
encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
try encoder.encode(report).write(to: URL(fileURLWithPath: arguments[2]))
