import Foundation

/// The report as an SVG picture: a chart for each question that was measured with several numbers of rows, both axes logarithmic.
struct Plot {
    private static let columns = 4
    private static let panel = (width: 270.0, height: 190.0)
    private static let margin = (left: 50.0, right: 62.0, top: 40.0, bottom: 26.0)
    private static let header = 56.0
    private static let colours = (ours: "#1b6ca8", peer: "#c0392b")

    private let report: Report
    private let questions: [(name: String, pairs: [Pair])]

    init(_ report: Report) {
        self.report = report
        questions = Dictionary(grouping: report.pairs, by: \.question)
            .map { (name: $0.key, pairs: $0.value.sorted { $0.rows < $1.rows }) }
            .filter { $0.pairs.filter { $0.ours ?? 0 > 0 }.count > 1 }
            .sorted { $0.name < $1.name }
    }

    var svg: String {
        let rows = (questions.count + Self.columns - 1) / Self.columns
        let width = Self.panel.width * Double(Self.columns) + 20
        let height = Self.header + Self.panel.height * Double(rows) + 10
        var svg = """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(number(width)) \(number(height))" \
            font-family="sans-serif" font-size="11">
            <rect width="100%" height="100%" fill="white"/>
            \(text(10, 20, "cost against rows", size: 15))
            \(text(10, 40, [report.machine, report.commit, report.date].compactMap(\.self).joined(separator: " · "), grey: true))

            """
        svg += line([(width - 330, 36), (width - 306, 36)], Self.colours.ours) + text(width - 300, 40, "FetchIndex")
        svg += line([(width - 210, 36), (width - 186, 36)], Self.colours.peer, isBroken: true)
        svg += text(width - 180, 40, "the peer that a chart names") + "\n"
        for (index, question) in questions.enumerated() {
            let x = 10 + Self.panel.width * Double(index % Self.columns)
            let y = Self.header + Self.panel.height * Double(index / Self.columns)
            svg += chart(of: question.pairs, titled: question.name, x, y)
        }
        return svg + "</svg>\n"
    }

    private func chart(of pairs: [Pair], titled title: String, _ left: Double, _ top: Double) -> String {
        let costs = pairs.flatMap { [$0.ours, $0.peer] }.compactMap(\.self).filter { $0 > 0 }.map(log10)
        guard let least = costs.min(), let most = costs.max(), let first = pairs.first, let last = pairs.last else {
            return ""
        }
        let decades = Int(least.rounded(.down))...max(Int(most.rounded(.up)), Int(least.rounded(.down)) + 1)
        let (x0, x1) = (left + Self.margin.left, left + Self.panel.width - Self.margin.right)
        let (y0, y1) = (top + Self.panel.height - Self.margin.bottom, top + Self.margin.top)
        let fewest = log10(Double(first.rows))
        let span = max(log10(Double(last.rows)) - fewest, 1e-9)
        func x(_ rows: Int) -> Double { x0 + (log10(Double(rows)) - fewest) / span * (x1 - x0) }
        func y(_ power: Double) -> Double {
            y0 - (power - Double(decades.lowerBound)) / Double(decades.count - 1) * (y0 - y1)
        }
        var svg = text(left + 4, top + 16, title, size: 12)
        let peer = pairs.first { $0.peer != nil }?.peerName ?? ""
        svg += text(left + 4, top + 30, peer.isEmpty ? "" : "beside \(peer)", grey: true) + "\n"
        for power in decades {
            svg += line([(x0, y(Double(power))), (x1, y(Double(power)))], "#ddd", width: 1)
            svg += text(x0 - 5, y(Double(power)) + 4, shortDuration(pow(10, Double(power))), anchor: "end", grey: true)
        }
        svg += "\n"
        for pair in pairs {
            svg += text(x(pair.rows), y0 + 15, shortCount(pair.rows), anchor: "middle", grey: true)
        }
        var ends: [(y: Double, cost: Double, colour: String)] = []
        for (cost, colour, isBroken) in [
            (\Pair.peer, Self.colours.peer, true), (\Pair.ours, Self.colours.ours, false),
        ] {
            let measured = pairs.compactMap { pair -> (point: (Double, Double), cost: Double)? in
                guard let seconds = pair[keyPath: cost], seconds > 0 else { return nil }
                return ((x(pair.rows), y(log10(seconds))), seconds)
            }
            svg += "\n" + line(measured.map(\.point), colour, isBroken: isBroken)
            for (point, _) in measured {
                svg += "<circle cx=\"\(number(point.0))\" cy=\"\(number(point.1))\" r=\"2.5\" fill=\"\(colour)\"/>"
            }
            if let end = measured.last { ends.append((end.point.1, end.cost, colour)) }
        }
        // The two labels stand apart.
        ends.sort { $0.y < $1.y }
        if ends.count == 2, ends[1].y - ends[0].y < 12 {
            let middle = (ends[0].y + ends[1].y) / 2
            (ends[0].y, ends[1].y) = (middle - 6, middle + 6)
        }
        for end in ends { svg += text(x1 + 6, end.y + 4, duration(end.cost), colour: end.colour) }
        return svg + "\n"
    }

    // MARK: Elements

    private func number(_ value: Double) -> String { String(format: "%.1f", value) }

    private func line(
        _ points: [(Double, Double)], _ colour: String, width: Double = 2, isBroken: Bool = false
    ) -> String {
        let list = points.map { "\(number($0.0)),\(number($0.1))" }.joined(separator: " ")
        let dash = isBroken ? " stroke-dasharray=\"5 4\"" : ""
        return
            "<polyline points=\"\(list)\" fill=\"none\" stroke=\"\(colour)\" stroke-width=\"\(number(width))\"\(dash)/>"
    }

    private func text(
        _ x: Double, _ y: Double, _ text: String, size: Int = 11, anchor: String = "start", grey: Bool = false,
        colour: String = "#222"
    ) -> String {
        let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        return "<text x=\"\(number(x))\" y=\"\(number(y))\" font-size=\"\(size)\" text-anchor=\"\(anchor)\" "
            + "fill=\"\(grey ? "#777" : colour)\">\(escaped)</text>"
    }

    private func shortDuration(_ seconds: Double) -> String {
        if seconds < 0.9e-6 { return String(format: "%.0f ns", seconds * 1e9) }
        if seconds < 0.9e-3 { return String(format: "%.0f µs", seconds * 1e6) }
        return seconds < 0.9 ? String(format: "%.0f ms", seconds * 1e3) : String(format: "%.0f s", seconds)
    }

    private func shortCount(_ rows: Int) -> String {
        if rows >= 1_000_000, rows % 1_000_000 == 0 { return "\(rows / 1_000_000) M" }
        return rows >= 1000 && rows % 1000 == 0 ? "\(rows / 1000) k" : "\(rows)"
    }
}
