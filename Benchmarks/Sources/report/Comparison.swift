import Foundation

/// Two reports, line by line. SQLite's times say how fast the machine was: a line's change is that of its ratio to its own
/// peer, or to the median of all peers: the smaller of both, and none if one says slower and the other faster. Where the peer
/// is this program in another way, it says nothing of the machine.
///
/// Now and then a process is slow for as long as it lives. So what looks slower may be measured again, by other processes,
/// and the best of all counts: a program that became slower is slower each time.
struct Comparison {
    /// A line is slower or faster only beyond this, or beyond the spread of its own measurements.
    private static let leastChange = 0.05
    /// What a script must not pass over.
    private static let regression = 0.15

    private struct Line {
        let name: String
        /// A regular expression of the names of its benchmarks, those of the peer among them.
        let pattern: String
        let old: Double
        let new: Double
        /// New against old; above 1 is slower.
        let change: Double
        let noise: Double

        /// Nil where one of them has no time of ours.
        init?(_ name: String, _ before: Pair, _ after: Pair, machine: Double) {
            guard let old = before.ours, let new = after.ours, old > 0 else { return nil }
            let byMachine = new / old / machine
            let byPeer = peerChange(before, after).map { new / old / $0 } ?? byMachine
            self.name = name
            self.old = old
            self.new = new
            // The one nearer to 1, on the side where both are.
            change = max(min(byMachine, byPeer), min(1, max(byMachine, byPeer)))
            pattern = NSRegularExpression.escapedPattern(for: "\(before.question) | \(before.rows) | ") + ".*"
            noise = max(leastChange, before.spread ?? 0, after.spread ?? 0)
        }

        var isBeyondNoise: Bool { abs(change - 1) > noise }

        var isRegression: Bool { isBeyondNoise && change > 1 + regression }
    }

    private let lines: [Line]
    private let missing: [String]

    /// `again` has the lines that were measured more than once, of `new`'s program.
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

    /// SQLite's time against that of before.
    private static func peerChange(_ before: Pair, _ after: Pair) -> Double? {
        guard [before.peerName, after.peerName].allSatisfy({ $0 == Pair.sqlite }), let old = before.peer,
            let new = after.peer, old > 0, new > 0
        else { return nil }
        return new / old
    }

    /// Prints what changed, and returns whether something is slower than a script may pass over.
    func print() -> Bool {
        let changed = lines.filter(\.isBeyondNoise)
        Swift.print("a change is that of the ratio to the line's peer, or to all peers' median: the smaller of both")
        for line in changed {
            let per = String(format: "%+.0f %%", (line.change - 1) * 100)
            Swift.print(
                "\(line.change > 1 ? "slower" : "faster")  \(per)  \(line.name): \(duration(line.old)) -> \(duration(line.new))"
            )
        }
        Swift.print("\(lines.count - changed.count) of \(lines.count) lines are the same but for noise")
        for name in missing { Swift.print("not measured now: \(name)") }
        return lines.contains(where: \.isRegression)
    }

    /// Regular expressions of the benchmarks that are slower than a script may pass over.
    var regressions: [String] { lines.filter(\.isRegression).map(\.pattern) }
}
