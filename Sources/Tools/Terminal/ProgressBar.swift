internal import FetchIndexInspection

/// Shows the progress of long work: a bar, the amount done, the rate and the time left. Nothing is shown in the first
/// 100 ms, or if standard error isn't a terminal.
package final class ProgressBar {
    private static let barWidth = 24

    private let title: String
    private let isShown = Output.errorIsTerminal
    private let start = ContinuousClock.now
    private var lastShown = ContinuousClock.now
    private var isDrawn = false

    package init(_ title: String) { self.title = title }

    /// Shows the number of rows done. `fraction` is the share of the work that is done, from 0 to 1.
    package func show(rows: Int, fraction: Double) {
        show(fraction: fraction) { seconds in
            "\(Numbers.grouped(rows)) rows  \(Numbers.grouped(Int(Double(rows) / max(seconds, 0.001))))/s"
        }
    }

    package func show(bytes: Int, of total: Int) {
        show(fraction: Double(bytes) / Double(max(total, 1))) { seconds in
            "\(Numbers.bytes(bytes))  \(Numbers.bytes(Int(Double(bytes) / max(seconds, 0.001))))/s"
        }
    }

    private func show(fraction: Double, _ amount: (_ seconds: Double) -> String) {
        guard isShown else { return }
        let now = ContinuousClock.now
        guard now - lastShown > .milliseconds(100) else { return }
        lastShown = now
        isDrawn = true
        let seconds = (now - start) / .seconds(1)
        let filled = Int(Double(Self.barWidth) * min(max(fraction, 0), 1))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled)
        let left = fraction > 0.001 ? Numbers.span(seconds: seconds / fraction - seconds) : "…"
        let line = "\(title) \(bar) \(amount(seconds))  \(left) left"
        Output.errorText("\r\(line.fitted(to: Output.width - 1))\u{1B}[K")
    }

    package func show(rows: Int, of total: Int) { show(rows: rows, fraction: Double(rows) / Double(max(total, 1))) }

    /// Erases the bar.
    package func finish() {
        if isDrawn { Output.errorText("\r\u{1B}[K") }
        isDrawn = false
    }
}
