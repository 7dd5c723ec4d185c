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
        // Both ways share the functions that count the steps of the walk. Records of subentities have other slots.
        guard let first, table.allPaths.isEmpty, entities == [entityNumber], let (way, source) = try way(first) else {
            return nil
        }
        var walk = RowWalk(
            first, compiled, entity, mostSteps: steps(at: try cheapPrice() / Self.shareOfWalk),
            mostOfZone: steps(at: RecordKey.numbersOfZone))
        var isPriced = false
        func step() throws -> Bool {
            if walk.stepCount == walk.mostSteps, !isPriced {
                isPriced = true
                walk.mostSteps = max(walk.mostSteps, try steps(at: price()))
            }
            return walk.step()
        }
        func read(_ object: RecordKey, _ record: RawSpan) throws -> Bool {
            try walk.mayRead(object) && step() && walk.read(object, record)
        }
        // The first range costs nothing, because its search finds a record.
        var isFirst = true
        func begin() throws -> Bool {
            defer { isFirst = false }
            return try isFirst ? walk.shouldContinue : walk.shouldContinue && step()
        }
        let rangeCount: Int
        switch way {
        case .rows(let ranges, let order, let isBackward, let hasTies):
            walk.hasTies = hasTies
            rangeCount = ranges.count
            for range in isBackward ? ranges.reversed() : ranges where try begin() {
                try order.walkObjects(ranks: range, isBackward: isBackward) { object in
                    guard try reader.record(object, { _ = try read(object, $0) }) else {
                        throw StoreError.corrupted("a cache leads to object \(object.number), which does not exist")
                    }
                    return walk.shouldContinue
                }
            }
        case .keys(let constraint, let intervals, let isBackward):
            rangeCount = intervals.count
            for interval in isBackward ? intervals.reversed() : intervals where try begin() {
                try reader.forEachObject(
                    entityNumber, constraint, from: interval.lower, to: interval.upper, isBackward: isBackward
                ) { object, record in
                    try object.entity == entityNumber ? read(object, record) : step()
                }
            }
        }
        return walk.isStopped ? nil : (walk, source, rangeCount)
    }

    /// The maximum number of steps of a walk, given the price of the other plan.
    private func steps(at price: Int) -> Int { price / Self.shareOfWalk / lookUpPrice }

    /// The way with the fewest rows, or the unique keys of the first sort key.
    private func way(_ first: FirstRows) throws -> (Way, FetchPlan.Source)? {
        var best: (way: Way, source: FetchPlan.Source, count: Int)?
        for kept in leadingOrders {
            guard let (isBackward, isAlongAll) = direction(of: first.keys, along: kept.keys),
                let rows = try rows(of: kept)?.rows, case .rows(let ranges, let order) = rows.found
            else { continue }
            if let best, best.count <= rows.found.count { continue }
            let way = Way.rows(
                ranges.sorted { $0.lowerBound < $1.lowerBound }, order, isBackward: isBackward,
                hasTies: isBackward || !kept.hasAllKeys || !isAlongAll)
            best = (way, rows.source, rows.found.count)
        }
        if let best { return (best.way, best.source) }
        guard let key = first.keys.first(where: { !isConstant($0) }),
            entity.slots[key.slot].role == .attribute, reader.hasUniqueKeys(of: entityNumber),
            let constraint = entity.uniqueConstraint(ofSlot: key.slot), try !mayHaveNull(key.slot)
        else { return nil }
        let intervals = intervals(of: key.slot) ?? [.all]
        return (.keys(constraint, intervals, isBackward: key.isDescending), source(of: key.slot))
    }

    /// Whether rows must be walked backwards to read them in the order of the sort keys, and whether the sort keys name
    /// all keys of the rows; nil if a walk doesn't give this order. Constant keys don't matter.
    private func direction(
        of sortKeys: [IndexKey], along keys: [IndexKey]
    ) -> (isBackward: Bool, isAlongAll: Bool)? {
        let (wanted, others) = (sortKeys.filter { !isConstant($0) }, keys.filter { !isConstant($0) })
        guard let first = wanted.first, wanted.count <= others.count else { return nil }
        let isBackward = first.isDescending != others[0].isDescending
        for (key, other) in zip(wanted, others) {
            guard key.slot == other.slot, (key.isDescending != other.isDescending) == isBackward else { return nil }
        }
        return (isBackward, wanted.count == others.count)
    }

    /// Whether the predicate limits a key to a single value.
    private func isConstant(_ key: IndexKey) -> Bool {
        constraints.contains { $0.slot == key.slot && $0.demand.values?.count == 1 }
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
    /// The number of records, of keys that lead to other entities' objects, and of searches for a further range.
    private(set) var stepCount = 0
    var mostSteps: Int
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

    init(_ first: FirstRows, _ predicate: CompiledPredicate, _ entity: Entity, mostSteps: Int, mostOfZone: Int) {
        (self.first, self.predicate, self.entity) = (first, predicate, entity)
        (self.mostSteps, self.mostOfZone) = (mostSteps, mostOfZone)
        missing = entity.missingValues
    }

    var shouldContinue: Bool { !isStopped && !isComplete }

    /// Counts a step. Returns whether the walk goes on.
    mutating func step() -> Bool {
        isStopped = stepCount >= mostSteps
        if !isStopped { stepCount += 1 }
        return shouldContinue
    }

    /// Notes a record's zone. Returns whether the record may be read; it may not if many records of few zones were.
    mutating func mayRead(_ object: RecordKey) -> Bool {
        zones.insert(object.zone)
        isStopped = readCount >= zones.count * mostOfZone
        return shouldContinue
    }

    /// Reads the next record. Returns whether the walk goes on.
    mutating func read(_ object: RecordKey, _ record: RawSpan) throws -> Bool {
        readCount += 1
        if first.edits.index(forKey: object) != nil { return true }
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
