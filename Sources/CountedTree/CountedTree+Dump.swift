internal import FetchIndexPlatform
extension CountedTree {
    /// Draws the tree for debugging: one line for each leaf and branch and each of their slots, with visible ASCII
    /// characters of keys as text. If a node is reached again, its slots aren't drawn again.
    package func dump() -> String {
        var lines = ["tree of \(count) entries, weight \(weight)"]
        var drawn: Set<NodeNumber> = []
        if root.node != 0 { dump(root.node, level: root.level, indent: "  ", &drawn, into: &lines) }
        return lines.joined(separator: "\n")
    }

    private func dump(
        _ node: NodeNumber, level: Int, indent: String, _ drawn: inout Set<NodeNumber>, into lines: inout [String]
    ) {
        guard drawn.insert(node).inserted else {
            lines.append("\(indent)node \(node) again")
            return
        }
        do {
            var children: [(NodeNumber, String)] = []
            try read(node, level: level) { view in
                let kind = level == 0 ? "leaf" : "branch"
                lines.append("\(indent)\(kind) \(node): \(view.slotCount) slots, \(view.bytes.byteCount) bytes")
                for slot in 0..<view.slotCount {
                    let cell = try view.cell(at: slot)
                    let measure = try view.measure(of: cell)
                    var line = "\(indent)  \(Self.text(try view.inlineKey(of: cell)))\(cell.hasLongKey ? "…" : "")"
                    if level > 0 { line += " count \(measure.count)" }
                    if root.isWeighted { line += " weight \(measure.weight)" }
                    if summarizer != nil { line += " summary \([UInt8](copying: view.summary(of: cell)))" }
                    if level > 0 {
                        children.append((view.child(of: cell), line))
                    } else {
                        lines.append(line)
                    }
                }
            }
            for (child, line) in children {
                lines.append(line)
                dump(child, level: level - 1, indent: indent + "    ", &drawn, into: &lines)
            }
        } catch {
            lines.append("\(indent)\(error)")
        }
    }

    private static func text(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            if (33..<127).contains(byte) { return String(Unicode.Scalar(byte)) }
            let digits = String(byte, radix: 16)
            return "\\" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
    }
}
