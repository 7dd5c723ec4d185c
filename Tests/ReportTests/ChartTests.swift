import Foundation
import Testing

@testable import FetchIndexInspection

/// Charts are compared as SVG text.
@Suite struct ChartTests {
    private func column(_ values: Double...) -> ColumnChart.Column { ColumnChart.Column(title: "t", values: values) }

    @Test func stackedColumnsAreScaledToTheHeightOfTheChart() {
        let chart = ColumnChart([column(1, 3), column(0, 2), column(0, 0)], styles: ["a", "b"])
        #expect(chart.greatest == 4)
        #expect(
            chart.svg(title: "T") == """
                <svg viewBox="0 0 30 100" preserveAspectRatio="none" role="img" aria-label="T">\
                <rect class="a" x="0.50" y="75.50" width="9" height="24.50"><title>t</title></rect>\
                <rect class="b" x="0.50" y="2" width="9" height="73.50"><title>t</title></rect>\
                <rect class="b" x="10.50" y="51" width="9" height="49"><title>t</title></rect></svg>
                """)
    }

    @Test(arguments: [[], [0.0], [0, 0]]) func chartsWithoutValuesAreEmpty(values: [Double]) {
        let chart = ColumnChart(values.map { column($0) }, styles: ["a"])
        #expect(!chart.svg(title: "").contains("<rect"))
        #expect(!ShareBar(values.map { ("", $0, "") }).svg(title: "").contains("<rect"))
        #expect(!EventChart([]).svg(title: "").contains("<path"))
    }

    @Test func partsOfABarAreAsWideAsTheirShares() {
        let bar = ShareBar([("a", 1, "x"), ("b", 0, "y"), ("c", 3, "z")]).svg(title: "")
        #expect(bar.contains("x=\"0\" y=\"0\" width=\"250\""))
        #expect(bar.contains("x=\"250\" y=\"0\" width=\"750\""))
        #expect(!bar.contains("class=\"y\""))
    }

    @Test func markupAndControlCharactersAreEscaped() {
        let hostile = "<script>\"'&\u{0}\u{1b}"
        let drawing = EventChart([.init(time: 1, size: .nan, title: hostile, style: hostile)]).svg(title: hostile)
        #expect(!drawing.contains("<script>") && !drawing.contains("\u{0}") && !drawing.contains("\u{1b}"))
        #expect(drawing.contains("&lt;script&gt;&quot;&#39;&amp;\u{fffd}\u{fffd}"))
    }

    @Test func eventsArePlacedByTimeAndLogarithmOfSize() {
        let events = [(0.0, 1.0), (5, 1000), (10, 0)].map {
            EventChart.Event(time: $0.0, size: $0.1, title: "", style: "s")
        }
        let drawing = EventChart(events).svg(title: "")
        #expect(drawing.contains("M5 ") && drawing.contains("M500 2V100") && drawing.contains("M995 96V100"))
    }

    @Test(arguments: [(3, 240, 1), (240, 240, 1), (241, 240, 2), (30_000, 240, 125), (0, 240, 1)])
    func manyValuesAreGroupedIntoFewColumns(count: Int, most: Int, width: Int) {
        let columns = ColumnChart.reduced(Array(0..<count), to: most) { group in
            #expect(group.count <= width)
            return ColumnChart.Column(title: "", values: [Double(group.max() ?? 0)])
        }
        #expect(columns.count <= most)
        #expect(columns.count == (count + width - 1) / width)
        #expect(columns.map { $0.values[0] }.max() ?? 0 == Double(max(0, count - 1)))
    }

    @Test func pointsArePlacedByTheirLogarithms() throws {
        func point(_ x: Double, _ y: Double) -> LineChart.Point { LineChart.Point(x: x, y: y, title: "<") }
        let chart = try #require(
            LineChart([
                (points: [point(10, 0.02), point(1000, 2)], style: "a"), (points: [point(100, 0.2)], style: "b"),
            ]))
        #expect(chart.bounds.least == 0.01 && chart.bounds.greatest == 10)
        let drawing = chart.svg(title: "T")
        // The first line goes from left to right. The point of the second line is in the middle.
        #expect(drawing.contains("<path class=\"a\" vector-effect=\"non-scaling-stroke\" d=\"M16 86.77L984 25.44\"/>"))
        #expect(drawing.contains("d=\"M500 56.10h0\"><title>&lt;</title>"))
        #expect(drawing.components(separatedBy: "class=\"grid\"").count == 5)
    }

    @Test func pointsWithoutAFiniteLogarithmAreOmitted() throws {
        func point(_ x: Double, _ y: Double) -> LineChart.Point { LineChart.Point(x: x, y: y, title: "") }
        #expect(LineChart([]) == nil)
        #expect(
            LineChart([(points: [point(0, 1), point(1, 0), point(1, -.infinity), point(.nan, 1)], style: "")]) == nil)
        let one = try #require(LineChart([(points: [point(5, 1), point(1, 0)], style: "s")]))
        #expect(one.bounds.least == 1 && one.bounds.greatest == 10)
        #expect(one.svg(title: "").components(separatedBy: "class=\"s dot\"").count == 2)
    }
}
