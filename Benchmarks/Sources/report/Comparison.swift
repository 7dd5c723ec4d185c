import Foundation

/// Compares two reports line by line. SQLite's times show how fast the machine was. So a line's change is the change of
/// its ratio to SQLite's time: either to the time of its own peer or to the median of all peers, whichever ratio
/// changed less. If one ratio says slower and the other faster, the line counts as unchanged. Peers that are FetchIndex
/// used in another way don't show the machine's speed.
///
/// Sometimes a process is slow during its whole life. So lines that look slower can be measured again by other
/// processes, and the best result counts. A program that became slower should be slower in each process.
struct Comparison {
    /// Changes up to this one don't count. If the spread of a line's measurements is larger, changes up to the spread
    /// don't count.
    private static let leastChange = 0.05
    /// A line that became slower by more than this, and by a change that counts, is a regression.
    private static let regression = 0.15

    private struct Line {
        let name: String
        /// A regular expression for the names of the line's benchmarks, including the peer's.
        let pattern: String
        let old: Double
        let new: Double
        /// The new time divided by the old one, adjusted by SQLite's times; above 1 is slower.
        let change: Double
        let noise: Double

        /// Returns nil if one of the reports lacks FetchIndex's time, or if the old time is 0.
        init?(_ name: String, _ before: Pair, _ after: Pair, machine: Double) {
            guard let old = before.ours, let new = after.ours, old > 0 else { return nil }
            let byMachine = new / old / machine
            let byPeer = peerChange(before, after).map { new / old / $0 } ?? byMachine
            self.name = name
            self.old = old
            self.new = new
            // The ratio nearer to 1, or 1 if the two are on different sides of it.
            change = max(min(byMachine, byPeer), min(1, max(byMachine, byPeer)))
            pattern = NSRegularExpression.escapedPattern(for: "\(before.question) | \(before.rows) | ") + ".*"
            noise = max(leastChange, before.spread ?? 0, after.spread ?? 0)
        }

        var isBeyondNoise: Bool { abs(change - 1) > noise }

        var isRegression: Bool { isBeyondNoise && change > 1 + regression }
    }

    private let lines: [Line]
    private let missing: [String]

    /// Compares `old` with `new`. `again` has further measurements of the program that `new` measured.
    init(of old: Report, with new: Report, again: [Pair] = []) {
        func measured(_ line: Pair) -> [Pair] {
            (new.pairs + again).filter { $0.question == line.question && $0.rows == line.rows }
        }
        let peers = old.pairs.compactMap { before in
            measured(before).first.flatMap { Self.peerChange(before, $0) }
        }
        let machine = peers.isEmpty ? 1 : peers.sorted()[peers.count / 2]
        var lines: [Line] = []
        var missing: [String] = []
        for before in old.pairs {
            let name = "\(before.question), \(before.rows) rows"
            let all = measured(before).compactMap { Line(name, before, $0, machine: machine) }
            if let best = all.min(by: { $0.change < $1.change }) {
                lines.append(best)
            } else {
                missing.append(name)
            }
        }
        self.lines = lines.sorted { $0.change > $1.change }
        self.missing = missing
    }

    /// Returns SQLite's new time divided by its old one; nil if the peer isn't SQLite, or a time is missing or 0.
    private static func peerChange(_ before: Pair, _ after: Pair) -> Double? {
        guard [before.peerName, after.peerName].allSatisfy({ $0 == Pair.sqlite }), let old = before.peer,
            let new = after.peer, old > 0, new > 0
        else { return nil }
        return new / old
    }

    /// Prints the changed lines, and returns whether any is a regression.
    func print() -> Bool {
        let changed = lines.filter(\.isBeyondNoise)
        Swift.print(
            "each line shows how much slower or faster FetchIndex became, relative to SQLite")
        for line in changed {
            let per = String(format: "%+.0f %%", (line.change - 1) * 100)
            Swift.print(
                "\(line.change > 1 ? "slower" : "faster")  \(per)  \(line.name): \(duration(line.old)) -> \(duration(line.new))"
            )
        }
        Swift.print("\(lines.count - changed.count) of \(lines.count) lines are unchanged, apart from noise")
        for name in missing { Swift.print("not measured now: \(name)") }
        return lines.contains(where: \.isRegression)
    }

    /// Regular expressions for the benchmarks of the lines that are regressions.
    var regressions: [String] { lines.filter(\.isRegression).map(\.pattern) }
}
