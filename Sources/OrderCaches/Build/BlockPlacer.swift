internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexSorting

/// Places the records of an order that a thread of a scan reads: keeps members, and sorts the keys of their rows.
final class BlockPlacer {
    private let placers: [Int: any RowPlacer]
    private var placer: (any RowPlacer)?
    private var placement: RowPlacement
    private let shape: OrderShape
    /// The state in which paths are followed; nil without paths.
    private let related: (any RecordState)?
    /// Records that are placed elsewhere.
    private let edits: [RecordKey: [UInt8]?]
    private var passed: PassedPages?
    let sorter: KeySorter
    private let countsMembers: Bool
    private let bound: SharedBound

    fileprivate init(
        _ builder: OrderBuilder, _ placers: [Int: any RowPlacer], _ reader: StoreReader,
        besides edits: [RecordKey: [UInt8]?], sortingIn budget: Int, _ wanted: WantedRows, _ bound: SharedBound
    ) {
        self.placers = placers
        placement = builder.placement
        shape = builder.shape
        related = builder.relatedState(of: reader, replacing: edits)
        self.edits = edits
        passed = builder.releasesPages ? PassedPages(of: reader.view) : nil
        sorter = KeySorter(memoryBudget: budget, folder: reader.store.path, mostWanted: wanted.most)
        countsMembers = wanted.countsAll
        self.bound = bound
    }

    /// The records of an entity come next. False when the order has none of it.
    @discardableResult
    func begin(_ entity: Int) -> Bool {
        placer = placers[entity]
        return placer != nil
    }

    // MARK: Members

    /// Keeps, of the selected records of a block, those of members.
    func keepMembers(of block: inout RecordBlock) throws {
        guard let placer else { return block.keep { _, _ in false } }
        dropEdited(from: &block)
        guard let related else { return try placer.keepMembers(of: &block) }
        var placement = placement
        try block.keep { object, record in
            placement.begin()
            return try placer.place(object, record, in: related, &placement)
        }
    }

    private func dropEdited(from block: inout RecordBlock) {
        if !edits.isEmpty { block.keep { object, _ in edits.index(forKey: object) == nil } }
    }

    /// Lets a scan leave out records that are not members.
    var filter: ScanFilter? { placer.flatMap { ScanFilter($0.columnTests) } }

    // MARK: Row keys

    /// Places the selected records of a block, and sorts the keys of those that are members.
    func sortRows(of block: inout RecordBlock) throws {
        guard let placer else { return }
        defer { releasePages(behind: block) }
        dropEdited(from: &block)
        // Not the properties of the class: each access to one would be checked for exclusivity, several times for each record.
        let (shape, related, sorter) = (shape, related, sorter)
        var placement = placement
        placement.bound = sorter.bound
        var droppedCount = 0
        if related == nil {
            // Whether a record is beyond the bound costs less than most predicates.
            if !countsMembers { try placer.keepRecords(of: &block, within: placement.bound) }
            try placer.keepMembers(of: &block)
            if countsMembers {
                droppedCount = block.selectedCount
                try placer.keepRecords(of: &block, within: placement.bound)
                droppedCount -= block.selectedCount
            }
        }
        try block.forEach { object, record in
            placement.begin()
            if let related {
                guard try placer.place(object, record, in: related, &placement) else { return }
            } else {
                try placer.placeMember(record, &placement)
            }
            if placement.isBeyondBound {
                droppedCount += 1
                return
            }
            placement.finishEntry(object, in: shape)
            try sorter.append(placement.key)
        }
        sorter.countDropped(droppedCount)
    }

    /// Places an edited record of an entity, whose object may be new.
    func sortRow(of object: RecordKey, _ record: [UInt8]) throws {
        guard let placer = placers[object.entity] else { return }
        placement.begin()
        guard try placer.place(object, record.span.bytes, in: related, &placement) else { return }
        placement.finishEntry(object, in: shape)
        try sorter.append(placement.key)
    }

    private func releasePages(behind block: borrowing RecordBlock) {
        // Out of the object, as above.
        guard var passed else { return }
        block.forEachOfAll { _, record in passed.pass(record) }
        self.passed = passed
    }

    /// Lets a scan also leave out records behind the wanted rows, as far as these were found.
    var filterOfSorted: ScanFilter? {
        guard let placer else { return nil }
        if countsMembers || related != nil || !sorter.isBounded || !placer.hasBounds { return filter }
        return ScanFilter(placer.columnTests) { [sorter, bound] values in
            placer.mayHaveRecords(within: bound.least(with: sorter.bound), values)
        }
    }
}

extension OrderBuilder {
    /// A placer for each thread of a scan. The first uses the builder's own row placers: it is on the caller's thread.
    func blockPlacers(
        of scan: Scan, besides edits: [RecordKey: [UInt8]?], sortingIn budget: Int = 0, wanted: WantedRows = .all
    ) throws -> [BlockPlacer] {
        let bound = SharedBound()
        return try (0..<scan.threadCount).map { thread in
            var placers: [Int: any RowPlacer] = [:]
            for entity in entities {
                placers[entity] = try thread == 0 ? placer(of: entity) : placer(of: entity)?.copy()
            }
            return BlockPlacer(
                self, placers, scan.reader(ofThread: thread), besides: edits, sortingIn: budget, wanted, bound)
        }
    }
}
