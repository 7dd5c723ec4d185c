extension PageWalk {
    /// Checks an entry of a leaf. Returns a defect for the caller to report, worded to follow "page 7: in the main
    /// tree, it"; nil for none.
    typealias Visitor = (_ page: PageView, _ key: Range<Int>, _ value: PageView.Value) throws -> String?

    /// The walk over one tree, with its settings and the counts so far.
    private struct Descent {
        let subject: String
        let keys: KeyKind
        /// The minimum number of a branch's children: 1 in the free list, otherwise 2. LMDB may leave branches of the
        /// free list with a single child.
        let fewestChildren: Int
        let visit: Visitor
        var branchPages = 0
        var leafPages = 0
        var overflowPages = 0
        var entries = 0
    }

    /// The bounds that a page's ancestors set for its keys: at least `first` and less than `end`.
    private struct Bounds {
        var first: [UInt8]?
        var end: [UInt8]?
    }

    private static let maximumKeyLength = TreeRecord.maximumKeyLength

    /// Walks over a tree whose record has no defect. Returns its statistics, without the pages below a defect.
    func walk(_ tree: TreeRecord, _ subject: String, keys: KeyKind, _ visit: @escaping Visitor) throws -> TreeStatistics
    {
        let isFreeList = tree == meta.freeList
        var descent = Descent(subject: subject, keys: keys, fewestChildren: isFreeList ? 1 : 2, visit: visit)
        if tree.root != TreeRecord.noRoot { try walk(tree.root, level: tree.depth - 1, Bounds(), &descent) }
        return TreeStatistics(
            depth: tree.depth, branchPages: descent.branchPages, leafPages: descent.leafPages,
            overflowPages: descent.overflowPages, entries: descent.entries)
    }

    /// Walks over a page and, unless it has a defect, over the pages below it. Leaves have level 0; the root has a
    /// level of at most 31.
    private func walk(_ number: PageNumber, level: Int, _ bounds: Bounds, _ descent: inout Descent) throws {
        guard use(number, descent.subject) else { return }
        let isLeaf = level == 0
        let bytes = try read(number, byteCount: meta.pageSize)
        let page = PageView(bytes, meta.layout)
        if isLeaf { descent.leafPages += 1 } else { descent.branchPages += 1 }
        let kind = isLeaf ? Page.Kind.leaf : .branch
        if let defect = page.headerDefect(number, kind, committedBy: meta.transaction) {
            return add(defect, number, descent)
        }
        checkChecksum(bytes, number, descent)
        if let defect = page.nodeDefect(isLeaf: isLeaf) { return add(defect, number, descent) }
        if page.nodeCount < (isLeaf ? 1 : descent.fewestChildren) {
            return add("has too few nodes (\(page.nodeCount))", number, descent)
        }
        // The first key of a branch isn't used.
        let firstKey = isLeaf ? 0 : 1
        if let defect = keyDefect(page, from: firstKey, bounds, descent.keys) { return add(defect, number, descent) }
        if isLeaf { return try walkLeaf(page, number, &descent) }
        for index in 0..<page.nodeCount {
            var childBounds = bounds
            if index > 0 { childBounds.first = page.bytes(page.key(index)) }
            if index + 1 < page.nodeCount { childBounds.end = page.bytes(page.key(index + 1)) }
            try walk(page.child(index), level: level - 1, childBounds, &descent)
        }
    }

    /// Compares the checksum of a page or of a run of overflow pages. If it's wrong, the walk goes on: the values say
    /// themselves which of them are damaged.
    private func checkChecksum(_ bytes: [UInt8], _ number: PageNumber, _ descent: Descent) {
        if meta.format.hasRightChecksum(bytes.span.bytes) { return }
        report.addWrongChecksum(number, in: descent.subject)
    }

    private func add(_ defect: String, _ number: PageNumber, _ descent: Descent) {
        report.add("page \(number): in \(descent.subject), it \(defect)")
    }

    private func keyDefect(_ page: PageView, from first: Int, _ bounds: Bounds, _ keys: KeyKind) -> String? {
        guard first < page.nodeCount else { return nil }
        for index in first..<page.nodeCount {
            let length = page.key(index).count
            guard keys == .integers ? length == 8 : (1...Self.maximumKeyLength).contains(length) else {
                return "has a key of \(length) bytes"
            }
            if index > first, !page.isKey(page.key(index - 1), before: page.key(index), keys) {
                return "has its keys \(index - 1) and \(index) out of order"
            }
        }
        if let lowest = bounds.first, page.isKey(page.key(first), before: lowest, keys) {
            return "has a key below its parent's bounds"
        }
        if let end = bounds.end, !page.isKey(page.key(page.nodeCount - 1), before: end, keys) {
            return "has a key above its parent's bounds"
        }
        return nil
    }

    private func walkLeaf(_ page: PageView, _ number: PageNumber, _ descent: inout Descent) throws {
        descent.entries += page.nodeCount
        for index in 0..<page.nodeCount {
            let value = page.value(index)
            if case .overflow(let run, let byteCount) = value {
                guard let count = try walkOverflow(run, byteCount, descent) else { continue }
                descent.overflowPages += count
            }
            if let defect = try descent.visit(page, page.key(index), value) { add(defect, number, descent) }
        }
    }

    /// Checks the first page of a run of overflow pages. Returns the run's length in pages; nil if it has a defect,
    /// which is reported.
    private func walkOverflow(_ run: OverflowRun, _ byteCount: Int, _ descent: Descent) throws -> Int? {
        let number = run.first
        guard number >= MetaPage.count, number < min(meta.pageCount, filePages) else {
            _ = use(number, descent.subject)
            return nil
        }
        let head = PageView(try read(number, byteCount: meta.layout.headerLength), meta.layout)
        if let defect = head.headerDefect(number, .overflow, committedBy: meta.transaction) ?? run.defect(of: head) {
            _ = use(number, descent.subject)
            add(defect, number, descent)
            return nil
        }
        let count = UInt64(head.overflowCount)
        guard use(number, count: count, descent.subject) else { return nil }
        // A run may be longer than needed: it keeps its length if the transaction that wrote its value overwrote it
        // with a shorter one.
        if count < meta.format.overflowCount(of: byteCount) {
            add("has \(count) overflow pages for \(byteCount) bytes", number, descent)
            return nil
        }
        if meta.format.hasChecksums {
            checkChecksum(try read(number, byteCount: Int(count) * meta.pageSize), number, descent)
        }
        return Int(count)
    }
}

extension OverflowRun {
    /// The defect of the run's first page, compared with this reference; nil if none is found.
    fileprivate func defect(of head: PageView) -> String? {
        guard let count, let transaction else { return nil }
        return count == UInt64(head.overflowCount) && transaction == head.transaction
            ? nil : "disagrees with its leaf on the number of its pages or on the transaction that wrote it"
    }
}
