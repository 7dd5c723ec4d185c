internal import FetchIndexCLibrary
internal import FetchIndexInspection
internal import FetchIndexInspectionReport

// The README's picture: an SVG file with texts, in light and dark colours.
extension BenchmarkPage {
    static let pictureTitle = "A warm sectioned fetch: all sections with counts, and the first 50 rows"

    private struct Picture {
        let title: String
        let note: String
        let costs: [Mark]
        let counts: [Mark]
        let lines: [Line]
    }

    /// A line of the grid with its text.
    private struct Mark {
        let place: String
        let text: String
    }

    private struct Line {
        let style: String
        let name: String
        let nameX: String
        let nameY: String
        let points: String
        let dots: [Dot]
    }

    private struct Dot {
        let x: String
        let y: String
        /// The height of the text's baseline.
        let textY: String
        let text: String
    }

    /// The area inside of the axes, in the units of the template's view box.
    private static let area = (left: 112.0, right: 640.0, top: 64.0, bottom: 292.0)

    /// Draws the times of a question by number of rows, on logarithmic axes, with the peer's. Returns nil if the run
    /// lacks the question, or has it for one number of rows only.
    func picture(of question: String, title: String) throws -> String? {
        let pairs = run.pairs.filter { $0.question == question && $0.ours ?? 0 > 0 && $0.peer ?? 0 > 0 }
            .sorted { $0.rows < $1.rows }
        guard let first = pairs.first, let last = pairs.last, first.rows < last.rows else { return nil }
        let costs = pairs.flatMap { [$0.ours ?? 1, $0.peer ?? 1] }.map { log10($0) }
        let decades = Int((costs.min() ?? 0).rounded(.down))...Int((costs.max() ?? 0).rounded(.up))
        func x(_ rows: Int) -> Double {
            let share = log10(Double(rows) / Double(first.rows)) / log10(Double(last.rows) / Double(first.rows))
            return Self.area.left + share * (Self.area.right - Self.area.left)
        }
        func y(_ power: Double) -> Double {
            let share = (power - Double(decades.lowerBound)) / Double(max(1, decades.count - 1))
            return Self.area.bottom - share * (Self.area.bottom - Self.area.top)
        }
        func line(_ style: String, _ name: String, _ cost: KeyPath<Pair, Double?>) -> Line {
            let places = pairs.map { (pair: $0, x: x($0.rows), y: y(log10($0[keyPath: cost] ?? 1))) }
            let end = places[places.count - 1]
            return Line(
                style: style, name: name, nameX: Self.number(end.x + 12), nameY: Self.number(end.y + 4),
                points: places.map { "\(Self.number($0.x)),\(Self.number($0.y))" }.joined(separator: " "),
                dots: places.map { place in
                    Dot(
                        x: Self.number(place.x), y: Self.number(place.y), textY: Self.number(place.y - 10),
                        text: Numbers.duration(seconds: place.pair[keyPath: cost] ?? 0))
                })
        }
        let about = [run.machine, run.date].compactMap { $0 }.joined(separator: ", ")
        return try Templates.render(
            Picture(
                title: title, note: about,
                costs: decades.map { power in
                    Mark(place: Self.number(y(Double(power))), text: Self.powerOfTen(power))
                },
                counts: pairs.map { Mark(place: Self.number(x($0.rows)), text: Numbers.grouped($0.rows)) },
                lines: [
                    line("peer", first.peerName, \.peer), line("ours", "FetchIndex", \.ours),
                ]),
            template: PackageResources.picture_mustache)
    }

    /// A text such as "10 ms" for 10 to a power, in seconds.
    private static func powerOfTen(_ power: Int) -> String {
        let (unit, zeros) = power < -3 ? ("µs", power + 6) : power < 0 ? ("ms", power + 3) : ("s", power)
        return zeros < 0 ? "\(pow(10, Double(zeros))) \(unit)" : "1" + String(repeating: "0", count: zeros) + " \(unit)"
    }

    private static func number(_ value: Double) -> String { Numbers.rounded(value, places: 1) }
}
