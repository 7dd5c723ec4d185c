import Foundation

/// Two reports, line by line. Where both have a peer, its time says how fast the machine was.
struct Comparison {
    /// A line is slower or faster only beyond this, or beyond the spread of its own measurements.
    private static let leastChange = 0.05
    /// What a script must not pass over.
    private static let regression = 0.15

    private struct Line {
        let name: String
        let old: Double
        let new: Double
        /// New against old; above 1 is slower.
        let change: Double
        let noise: Double

        var isBeyondNoise: Bool { abs(change - 1) > noise }
    }

    private let lines: [Line]
    private let missing: [String]

    init(of old: Report, with new: Report) {
        var lines: [Line] = []
        var missing: [String] = []
        for before in old.pairs {
            let name = "\(before.question), \(before.rows) rows"
            guard let after = new.pairs.first(where: { $0.question == before.question && $0.rows == before.rows }),
                let oldTime = before.ours, let newTime = after.ours, oldTime > 0
            else {
                missing.append(name)
                continue
            }
            var change = newTime / oldTime
            if let oldPeer = before.peer, let newPeer = after.peer, oldPeer > 0, newPeer > 0 {
                change *= oldPeer / newPeer
            }
            let spreads = [before.spread, after.spread].compactMap(\.self)
            let noise = max(Self.leastChange, spreads.max() ?? 0)
            lines.append(Line(name: name, old: oldTime, new: newTime, change: change, noise: noise))
        }
        self.lines = lines.sorted { $0.change > $1.change }
        self.missing = missing
    }

    /// Prints what changed, and returns whether something is slower than a script may pass over.
    func print() -> Bool {
        let changed = lines.filter(\.isBeyondNoise)
        Swift.print("where a line has a peer, its change is that of the ratio to the peer in the same run")
        for line in changed {
            let per = String(format: "%+.0f %%", (line.change - 1) * 100)
            Swift.print(
                "\(line.change > 1 ? "slower" : "faster")  \(per)  \(line.name): \(duration(line.old)) -> \(duration(line.new))"
            )
        }
        Swift.print("\(lines.count - changed.count) of \(lines.count) lines are the same but for noise")
        for name in missing { Swift.print("not measured now: \(name)") }
        return changed.contains { $0.change > 1 + Self.regression }
    }
}
