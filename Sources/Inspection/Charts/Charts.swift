internal import FetchIndexCLibrary

/// A chart of stacked columns, side by side.
package struct ColumnChart {
    package struct Column {
        package let title: String
        /// The values of the stacked parts from the bottom up, one for each style.
        package let values: [Double]

        package init(title: String, values: [Double]) { (self.title, self.values) = (title, values) }
    }

    private let columns: [Column]
    private let styles: [String]

    /// The greatest sum of a column's values.
    package let greatest: Double

    package init(_ columns: [Column], styles: [String]) {
        (self.columns, self.styles) = (columns, styles)
        greatest = columns.map { $0.values.reduce(0, +) }.max() ?? 0
    }

    package func svg(title: String) -> String {
        let (step, height) = (10.0, 100.0)
        var drawing = SVG(width: Double(max(1, columns.count)) * step, height: height, title: title)
        for (index, column) in columns.enumerated() where greatest > 0 {
            var top = height
            // A small value is drawn as a thin line.
            for (value, style) in zip(column.values, styles) where value > 0 {
                let part = max(1, value / greatest * (height - 2))
                top -= part
                drawing.rectangle(
                    x: Double(index) * step + 0.5, y: top, width: step - 1, height: part, style: style,
                    title: column.title)
            }
        }
        return drawing.text
    }
}

/// A horizontal bar divided into parts; the width of a part is its share of the sum.
package struct ShareBar {
    private let parts: [(title: String, value: Double, style: String)]

    package init(_ parts: [(title: String, value: Double, style: String)]) { self.parts = parts }

    package func svg(title: String) -> String {
        var drawing = SVG(width: 1000, height: 20, title: title)
        let sum = parts.reduce(0) { $0 + $1.value }
        var x = 0.0
        for part in parts where sum > 0 && part.value > 0 {
            let width = part.value / sum * 1000
            drawing.rectangle(x: x, y: 0, width: width, height: 20, style: part.style, title: part.title)
            x += width
        }
        return drawing.text
    }
}

/// A time line of events; the height of an event grows with the logarithm of its size.
package struct EventChart {
    package struct Event {
        package let time: Double
        package let size: Double
        package let title: String
        package let style: String

        package init(time: Double, size: Double, title: String, style: String) {
            (self.time, self.size, self.title, self.style) = (time, size, title, style)
        }
    }

    private let events: [Event]

    package init(_ events: [Event]) { self.events = events }

    package func svg(title: String) -> String {
        var drawing = SVG(width: 1000, height: 100, title: title)
        let times = events.map(\.time)
        guard let first = times.min(), let last = times.max() else { return drawing.text }
        let greatest = Self.height(events.map(\.size).max() ?? 0)
        for event in events {
            let x = last > first ? 5 + (event.time - first) / (last - first) * 990 : 500
            let height = max(4, Self.height(event.size) / greatest * 98)
            drawing.line(x: x, from: 100 - height, to: 100, style: event.style, title: event.title)
        }
        return drawing.text
    }

    private static func height(_ size: Double) -> Double { max(0.01, log1p(max(0, size.isFinite ? size : 0) * 10)) }
}

extension ColumnChart {
    /// Divides the values into groups of neighbours, so that there are at most `most` columns. The closure makes the column of a group.
    package static func reduced<Value>(
        _ values: [Value], to most: Int, _ column: (ArraySlice<Value>) -> Column
    ) -> [Column] {
        let width = max(1, (values.count + most - 1) / most)
        return stride(from: 0, to: values.count, by: width).map {
            column(values[$0..<min($0 + width, values.count)])
        }
    }
}
