internal import FetchIndexPlatform
extension EditPass {
    /// Writes a node's new cells into the node, and into additional nodes if they exceed its capacity. Frees the node
    /// if no cell is left.
    func finish(
        _ writer: NodeWriter, of node: NodeNumber, level: Int, _ measure: Measure, fillsNodes: Bool
    ) throws -> Outcome {
        if writer.slotCount == 0 {
            try store.free(node)
            return .emptied
        }
        if writer.byteCount <= store.capacity {
            try store.write(node, writer.node())
            return .changed(measure, isUnderfull: writer.byteCount < store.capacity / 4)
        }
        var pieces: [Piece] = []
        var last: [UInt8] = []
        for cut in writer.cuts(capacity: store.capacity, fillsNodes: fillsNodes) {
            let bytes = writer.node(cut)
            var separator = StoredKey.empty
            if !pieces.isEmpty {
                // A branch's first key is moved up to the parent, as the separator of the branch.
                separator =
                    level == 0
                    ? try self.separator(between: last, and: bytes, of: node)
                    : writer.storedKey(at: cut.slots.lowerBound)
            }
            let measure = try self.measure(of: bytes, node, level: level)
            let number = pieces.isEmpty ? node : try store.allocate()
            if level == 0 { last = bytes }
            try store.write(number, bytes)
            pieces.append(Piece(node: number, measure: measure, separator: separator))
        }
        return .split(pieces)
    }

    private func measure(of bytes: [UInt8], _ node: NodeNumber, level: Int) throws -> Measure {
        let view = try NodeView(bytes.span.bytes, node: node, level: level, form)
        return try view.measure(of: 0..<view.slotCount)
    }

    /// The shortest separator of two leaves: a prefix of the upper leaf's first key.
    private func separator(between lower: [UInt8], and upper: [UInt8], of node: NodeNumber) throws -> StoredKey {
        let lowerView = try NodeView(lower.span.bytes, node: node, level: 0, form)
        let upperView = try NodeView(upper.span.bytes, node: node, level: 0, form)
        var last: [UInt8] = []
        var first: [UInt8] = []
        try tree.handOut(lowerView.slotCount - 1, of: lowerView) { last = [UInt8](copying: $0.key) }
        try tree.handOut(0, of: upperView) { first = [UInt8](copying: $0.key) }
        let key = first.span.bytes
        return try store.storedForm(of: key.extracting(first: key.commonPrefixLength(last.span.bytes) + 1), form)
    }
}
