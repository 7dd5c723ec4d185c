internal import FetchIndexCLibrary

/// Lines through measured points on logarithmic axes: a cost that grows with the number of rows is a rising line, a constant cost a
/// level one.
package struct LineChart {
    package struct Point {
        package let x: Double
        package let y: Double
        package let title: String

        package init(x: Double, y: Double, title: String) { (self.x, self.y, self.title) = (x, y, title) }
    }

    private static let (width, height) = (1000.0, 100.0)
    private static let inset = (x: 16.0, y: 4.0)

    private let lines: [(points: [Point], style: String)]
    private let places: ClosedRange<Double>
    /// The exponents of powers of ten: no value is below the first power or above the last one.
    private let decades: ClosedRange<Int>

    /// The values at the lowest and the highest line of the grid: powers of ten.
    package var bounds: (least: Double, greatest: Double) {
        (pow(10, Double(decades.lowerBound)), pow(10, Double(decades.upperBound)))
    }

    /// Leaves out points with a coordinate that has no finite logarithm. Returns nil if no point is left.
    package init?(_ lines: [(points: [Point], style: String)]) {
        let drawn = lines.map { line in
            (points: line.points.filter { $0.x > 0 && $0.y > 0 && $0.x.isFinite && $0.y.isFinite }, style: line.style)
        }
        let all = drawn.flatMap(\.points)
        guard let left = all.map(\.x).min(), let right = all.map(\.x).max(), let low = all.map(\.y).min(),
            let high = all.map(\.y).max()
        else { return nil }
        self.lines = drawn
        places = log10(left)...log10(right)
        let first = Int(log10(low).rounded(.down))
        decades = first...max(first + 1, Int(log10(high).rounded(.up)))
    }

    private func x(_ value: Double) -> Double {
        let span = places.upperBound - places.lowerBound
        let share = span > 0 ? (log10(value) - places.lowerBound) / span : 0.5
        return Self.inset.x + share * (Self.width - 2 * Self.inset.x)
    }

    private func y(_ power: Double) -> Double {
        let share = (power - Double(decades.lowerBound)) / Double(decades.count - 1)
        return Self.height - Self.inset.y - share * (Self.height - 2 * Self.inset.y)
    }

    package func svg(title: String) -> String {
        var drawing = SVG(width: Self.width, height: Self.height, title: title)
        for power in decades {
            drawing.polyline([(0, y(Double(power))), (Self.width, y(Double(power)))], style: "grid")
        }
        for line in lines {
            let points = line.points.map { (x($0.x), y(log10($0.y))) }
            drawing.polyline(points, style: line.style)
            for (place, point) in zip(points, line.points) {
                drawing.dot(x: place.0, y: place.1, style: line.style, title: point.title)
            }
        }
        return drawing.text
    }
}
