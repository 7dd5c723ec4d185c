internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexValues

/// Finds the first rows of a sorted fetch by a walk: reads records in the order of the sort keys, along a current cache
/// or unique keys, until enough of them match.
extension FetchPlanner {
    /// A walk costs at most this fraction of the other plan: one in this many. If it hasn't found the rows by then, the
    /// other plan finds them.
    private static let shareOfWalk = 4

    /// Rows that are read in the order of the sort keys.
    private enum Way {
        /// Rows of a cache, from the first range to the last, or backwards. If `hasTies`, rows with equal sort keys may
        /// be in another order than that of their object numbers.
        case rows([Range<Int>], SectionedOrder, isBackward: Bool, hasTies: Bool)
        case keys(UniqueConstraint, [KeyInterval], isBackward: Bool)
    }

    /// The first rows, found by a walk. Returns nil if the fetch doesn't want first rows, if no order leads with its sort
    /// keys, or if the walk would cost too much. `price` returns the price of the other plan. It's called only during a
    /// long walk, because it reads zones.
    func firstRows(_ price: () throws -> Int) throws -> (walk: RowWalk, source: FetchPlan.Source, lookUpCount: Int)? {
        // Records of subentities have other slots.
        guard let first, table.allPaths.isEmpty, entities == [entityNumber], let (way, source) = try way(first) else {
            return nil
        }
        var walk = RowWalk(
            first, compiled, entity, mostRead: reads(at: try cheapPrice() / Self.shareOfWalk),
            mostOfZone: reads(at: RecordKey.numbersOfZone))
        var isPriced = false
        func read(_ object: RecordKey, _ record: RawSpan) throws -> Bool {
            if walk.readCount == walk.mostRead, !isPriced {
                isPriced = true
                walk.mostRead = max(walk.mostRead, try reads(at: price()))
            }
            return try walk.read(object, record)
        }
        let rangeCount: Int
        switch way {
        case .rows(let ranges, let order, let isBackward, let hasTies):
            walk.hasTies = hasTies
            rangeCount = ranges.count
            for range in isBackward ? ranges.reversed() : ranges where walk.shouldContinue {
                try order.walkObjects(ranks: range, isBackward: isBackward) { object in
                    guard try reader.record(object, { _ = try read(object, $0) }) else {
                        throw StoreError.corrupted("a cache leads to object \(object.number), which does not exist")
                    }
                    return walk.shouldContinue
                }
            }
        case .keys(let constraint, let intervals, let isBackward):
            rangeCount = intervals.count
            for interval in isBackward ? intervals.reversed() : intervals where walk.shouldContinue {
                try reader.forEachObject(
                    entityNumber, constraint, from: interval.lower, to: interval.upper, isBackward: isBackward
                ) { object, record in
                    object.entity == entityNumber ? try read(object, record) : walk.pass()
                }
            }
        }
        return walk.isStopped ? nil : (walk, source, rangeCount)
    }

    /// The maximum number of records that a walk reads, given the price of the other plan.
    private func reads(at price: Int) -> Int { price / Self.shareOfWalk / lookUpPrice }

    /// The way with the fewest rows, or the unique keys of the first sort key.
    private func way(_ first: FirstRows) throws -> (Way, FetchPlan.Source)? {
        var best: (way: Way, source: FetchPlan.Source, count: Int)?
        for kept in leadingOrders {
            guard let isBackward = isBackward(first.keys, along: kept.keys),
                let rows = try rows(of: kept)?.rows, case .rows(let ranges, let order) = rows.found
            else { continue }
            if let best, best.count <= rows.found.count { continue }
            let way = Way.rows(
                ranges.sorted { $0.lowerBound < $1.lowerBound }, order, isBackward: isBackward,
                hasTies: isBackward || !kept.hasAllKeys || first.keys.count < kept.keys.count)
            best = (way, rows.source, rows.found.count)
        }
        if let best { return (best.way, best.source) }
        let key = first.keys[0]
        guard entity.slots[key.slot].role == .attribute, reader.hasUniqueKeys(of: entityNumber),
            let constraint = entity.uniqueConstraint(ofSlot: key.slot), try !mayHaveNull(key.slot)
        else { return nil }
        let intervals = intervals(of: key.slot) ?? [.all]
        return (.keys(constraint, intervals, isBackward: key.isDescending), source(of: key.slot))
    }

    /// Whether rows must be walked backwards to read them in the order of the sort keys; nil if a walk doesn't give this
    /// order. Keys that the predicate limits to a single value don't matter.
    private func isBackward(_ sortKeys: [IndexKey], along keys: [IndexKey]) -> Bool? {
        var rest = sortKeys[...]
        var isBackward: Bool?
        for key in keys {
            guard let next = rest.first else { break }
            if next.slot == key.slot {
                let isOpposite = next.isDescending != key.isDescending
                guard isBackward ?? isOpposite == isOpposite else { return nil }
                isBackward = isOpposite
                rest.removeFirst()
            } else if !constraints.contains(where: { $0.slot == key.slot && $0.demand.values?.count == 1 }) {
                return nil
            }
        }
        return rest.isEmpty ? isBackward : nil
    }

    /// Whether an object may have null in a slot. Unique keys don't lead to such objects.
    private func mayHaveNull(_ slot: Int) throws -> Bool {
        if constraints.contains(where: { $0.slot == slot && !$0.demand.admitsNull }) { return false }
        let numbers = try reader.numbers(of: entityNumber) { $0[slot]?.mayHave(.null) ?? true }
        return try numbers.skippedCount < reader.count(of: [entityNumber])
    }
}

/// The first rows of a fetch, while a walk finds them.
struct RowWalk {
    /// The matches, in the order of the walk. Those that equal the last wanted one in all sort keys are included.
    private(set) var objects: [RecordKey] = []
    private(set) var readCount = 0
    var mostRead: Int
    /// The maximum number of records to read for each zone in which one of them is. A scan must read these zones, too,
    /// and may find the first rows in them: the zones may be in the order of the sort keys.
    private let mostOfZone: Int
    private var zones: Set<UInt64> = []
    /// Whether rows with equal sort keys may come in another order than that of their object numbers.
    var hasTies = false
    /// Whether the walk ended because it would have read too many records.
    private(set) var isStopped = false
    private var isComplete = false
    private let first: FirstRows
    private let predicate: CompiledPredicate
    private let entity: Entity
    private let missing: [UInt8]
    /// The sort keys of the last wanted row.
    private var lastKeys: [UInt8] = []

    init(_ first: FirstRows, _ predicate: CompiledPredicate, _ entity: Entity, mostRead: Int, mostOfZone: Int) {
        (self.first, self.predicate, self.entity) = (first, predicate, entity)
        (self.mostRead, self.mostOfZone) = (mostRead, mostOfZone)
        missing = entity.missingValues
    }

    var shouldContinue: Bool { !isStopped && !isComplete }

    /// Counts a record that isn't read. Returns whether the walk goes on.
    mutating func pass() -> Bool {
        isStopped = readCount >= mostRead || readCount >= zones.count * mostOfZone
        if !isStopped { readCount += 1 }
        return shouldContinue
    }

    /// Reads the next record. Returns whether the walk goes on.
    mutating func read(_ object: RecordKey, _ record: RawSpan) throws -> Bool {
        zones.insert(object.zone)
        guard pass(), first.edits.index(forKey: object) == nil else { return shouldContinue }
        let missing = missing
        let view = try RecordView(record, missing: missing.span.bytes)
        if objects.count >= first.most, try keys(of: view) != lastKeys {
            isComplete = true
            return false
        }
        guard try predicate.evaluate(view) else { return true }
        objects.append(object)
        if objects.count == first.most {
            if hasTies { lastKeys = try keys(of: view) } else { isComplete = true }
        }
        return shouldContinue
    }

    private func keys(of record: RecordView) throws -> [UInt8] {
        var keys: [UInt8] = []
        for key in first.keys { try record.appendOrderKey(of: key.slot, as: entity.type(at: key.slot), to: &keys) }
        return keys
    }
}
