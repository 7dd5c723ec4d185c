internal import FetchIndexInspection

/// Horizontal bars, each with a name and a number.
struct BarChart {
    let bars: [(name: String, value: Int)]

    private static let nameWidth = 32
    private static let eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

    func lines(width: Int) -> [String] {
        let names = bars.map { $0.name.fitted(to: Self.nameWidth) }
        let numbers = bars.map { Numbers.grouped($0.value) }
        let nameWidth = names.map(\.displayWidth).max() ?? 0
        let numberWidth = numbers.map(\.count).max() ?? 0
        let barWidth = max(width - nameWidth - numberWidth - 4, 8)
        let largest = max(bars.map(\.value).max() ?? 1, 1)
        return bars.indices.map { index in
            let length = bars[index].value * barWidth * 8 / largest
            let bar = String(repeating: "█", count: length / 8) + Self.eighths[length % 8]
            return
                "\(names[index].padded(to: nameWidth))  \(numbers[index].padded(to: numberWidth, right: true))  \(bar)"
        }
    }
}
