internal import FetchIndexEssentials
internal import FetchIndexInspection
internal import FetchIndexInspectionReport

/// The HTML page of a run of `Scripts/benchmark`. For each question, a chart and a table show FetchIndex's and the
/// peer's times by number of rows. A last table has the figures, and their limits if any.
struct BenchmarkPage {
    /// The median times of a question for one number of rows, in seconds.
    struct Pair: Decodable {
        let question: String
        let rows: Int
        let ours: Double?
        let peer: Double?
        let peerName: String
        let ratio: Double?
    }

    struct Figure: Decodable {
        let question: String
        let rows: Int
        let value: Double
        let limit: Double?
        let unit: String
    }

    struct Run: Decodable {
        let commit: String?
        let machine: String?
        let date: String?
        let pairs: [Pair]
        let figures: [Figure]
    }

    let run: Run

    /// Reads the results.json of a run. Throws `DecodingError`.
    init(results: Data) throws { run = try JSONDecoder().decode(Run.self, from: results) }

    func html() throws -> String {
        let questions = Dictionary(grouping: run.pairs, by: \.question).sorted { $0.key < $1.key }
        let about = [("machine", run.machine), ("commit", run.commit), ("date", run.date)]
        return try Templates.render(
            Values(
                style: Templates.style,
                facts: about.compactMap { name, value in value.map { Fact(name: name, value: $0) } },
                questions: questions.map { Self.chart($0.key, $0.value.sorted { $0.rows < $1.rows }) },
                hasFigures: !run.figures.isEmpty, figures: run.figures.map(Self.row)),
            template: PackageResources.benchmark_mustache)
    }

    // MARK: The values of the template

    private struct Values {
        let style: String
        let facts: [Fact]
        let questions: [Chart]
        let hasFigures: Bool
        let figures: [FigureRow]
    }

    private struct Fact {
        let name: String
        let value: String
    }

    private struct Chart {
        let title: String
        let peer: String
        let svg: String
        let top: String
        let left: String
        let right: String
        let rows: [ChartRow]
    }

    private struct ChartRow {
        let rows: String
        let ours: String
        let peer: String
        let ratio: String
    }

    private struct FigureRow {
        let question: String
        let rows: String
        let value: String
        let limit: String
        /// The style of the value: "good", "bad", or empty if the value has no limit.
        let style: String
    }

    private static func chart(_ question: String, _ pairs: [Pair]) -> Chart {
        func points(_ name: String, _ cost: KeyPath<Pair, Double?>) -> [LineChart.Point] {
            pairs.compactMap { pair in
                pair[keyPath: cost].map {
                    LineChart.Point(
                        x: Double(pair.rows), y: $0,
                        title: "\(name), \(Numbers.count(pair.rows, "row")): \(Numbers.duration(seconds: $0))")
                }
            }
        }
        let peer = pairs.first { $0.peer != nil }?.peerName ?? ""
        let chart = LineChart([
            (points: points(peer, \.peer), style: "peer"), (points: points("FetchIndex", \.ours), style: "ours"),
        ])
        return Chart(
            title: question, peer: peer, svg: chart?.svg(title: question) ?? "",
            top: chart.map { "up to \(Numbers.duration(seconds: $0.bounds.greatest))" } ?? "",
            left: pairs.first.map { Numbers.count($0.rows, "row") } ?? "",
            right: pairs.count > 1 ? pairs.last.map { Numbers.count($0.rows, "row") } ?? "" : "",
            rows: pairs.map { pair in
                ChartRow(
                    rows: Numbers.grouped(pair.rows), ours: pair.ours.map(Numbers.duration(seconds:)) ?? "–",
                    peer: pair.peer.map(Numbers.duration(seconds:)) ?? "–",
                    ratio: pair.ratio.map {
                        $0 < 10 ? Numbers.rounded($0, places: 2) : Numbers.grouped(Int($0.rounded()))
                    }
                        ?? "–")
            })
    }

    private static func row(_ figure: Figure) -> FigureRow {
        FigureRow(
            question: figure.question, rows: Numbers.grouped(figure.rows),
            value: "\(Numbers.rounded(figure.value, places: 2)) \(figure.unit)",
            limit: figure.limit.map { Numbers.rounded($0, places: 2) } ?? "",
            style: figure.limit.map { figure.value <= $0 ? "good" : "bad" } ?? "")
    }
}
