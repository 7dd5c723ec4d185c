internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexSorting

/// Finds an order's rows among the records that one thread of a scan reads: selects the members and sorts their row
/// keys.
final class BlockPlacer {
    private let placers: [Int: any RowPlacer]
    private var placer: (any RowPlacer)?
    private var placement: RowPlacement
    private let shape: OrderShape
    /// The state in which key paths are followed; nil if the order has no paths.
    private let related: (any RecordState)?
    /// The edited records, which are placed separately.
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
        sorter = KeySorter(memoryBudget: budget, folder: reader.store.sortingFolder, mostWanted: wanted.most)
        countsMembers = wanted.countsAll
        self.bound = bound
    }

    /// Prepares for the records of an entity. Returns false if the order doesn't contain objects of this entity.
    @discardableResult
    func begin(_ entity: Int) -> Bool {
        placer = placers[entity]
        return placer != nil
    }

    // MARK: Members

    /// Deselects the records of a block that aren't members of the order, and records with edits.
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

    /// A filter with which a scan skips records that aren't members; nil if it can't skip any.
    var filter: ScanFilter? { placer.flatMap { ScanFilter($0.columnTests) } }

    // MARK: Row keys

    /// Gives the sorter the row keys of the members among a block's selected records. Leaves out records with edits,
    /// and may leave out rows that aren't wanted.
    func sortRows(of block: inout RecordBlock) throws {
        guard let placer else { return }
        defer { releasePages(behind: block) }
        dropEdited(from: &block)
        // Local copies, because each access to a property of the class is checked for exclusivity, and this would
        // happen several times per record.
        let (shape, related, sorter) = (shape, related, sorter)
        var placement = placement
        placement.bound = sorter.bound
        var droppedCount = 0
        if related == nil {
            // The bound comes first, unless members are counted: comparing a record with it costs less than evaluating
            // most predicates.
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

    /// Computes the row key of a record that isn't the stored one, if its object is a member. The object may be new.
    func sortRow(of object: RecordKey, _ record: RawSpan) throws {
        guard let placer = placers[object.entity] else { return }
        placement.begin()
        guard try placer.place(object, record, in: related, &placement) else { return }
        placement.finishEntry(object, in: shape)
        try sorter.append(placement.key)
    }

    private func releasePages(behind block: borrowing RecordBlock) {
        // A local copy, because each access to a property of the class is checked for exclusivity.
        guard var passed else { return }
        block.forEachOfAll { _, record in passed.pass(record) }
        self.passed = passed
    }

    /// A filter with which a scan skips records that aren't members; nil if it can't skip any. Unless members are
    /// counted, it may also skip records whose row keys are greater than the least bound that a thread has found so
    /// far. Zones that may have the first rows are then read first, so that the bound is low soon.
    var filterOfSorted: ScanFilter? {
        guard let placer else { return nil }
        if countsMembers || related != nil || !sorter.isBounded || !placer.hasBounds { return filter }
        return ScanFilter(placer.columnTests) { [sorter, bound] values in
            placer.mayHaveRecords(within: bound.least(with: sorter.bound), values)
        } precedes: {
            placer.mayPrecede($0, $1)
        }
    }
}

extension OrderBuilder {
    /// Creates one block placer per thread of a scan. The first one uses this builder's row placers, because it runs on
    /// the caller's thread; the others use copies.
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
