internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexValues

/// Chooses the candidates of a fetch. The parts of the predicate's topmost AND that bound an attribute are looked up if
/// that attribute leads a cache or is a unique key. The whole predicate is evaluated on the candidates.
///
/// Without candidates, or with too many, the records are scanned, except those in zones that can't have members.
///
/// Two ranks give the number of rows in a range of a cache, and the unique keys in a range are counted, so plans are
/// compared by exact counts.
struct FetchPlanner {
    /// A record found by its number costs about this many times as much as the next one of a scan by two threads.
    private static let lookUpCost = 32
    /// This number of records is looked up even in a small store: that takes some hundred microseconds.
    private static let fewLookUps = 256
    /// At most one in this many records is looked up.
    private static let recordsOfLookUp = 4

    let reader: StoreReader
    let entityNumber: Int
    /// The entities whose objects are fetched.
    let entities: [Int]
    let entity: Entity
    /// The key paths of the predicate.
    let table: PathTable
    private let predicate: FetchPredicate
    private let parts: [PredicateSyntax]
    let compiled: CompiledPredicate
    /// The constraints by part of the predicate.
    private let partConstraints: [PartConstraints]
    /// The constraints of all parts.
    let constraints: [AttributeConstraint]

    /// The caches of the reader's state that are current.
    private let leadingOrders: [LeadingOrder]
    /// Whether the fetch ends once it has some objects, in the order of their numbers.
    private let endsEarly: Bool

    /// `compiled` is the predicate for the entity. `entities` are the entity and, if wanted, its subentities.
    /// `leadingOrders` are read from the reader if they are nil.
    init(
        _ predicate: FetchPredicate, _ compiled: CompiledPredicate, _ table: PathTable, entity number: Int,
        among entities: [Int], in reader: StoreReader, _ leadingOrders: [LeadingOrder]? = nil, endsEarly: Bool = false
    ) throws {
        (self.reader, self.table, self.endsEarly) = (reader, table, endsEarly)
        self.leadingOrders = try leadingOrders ?? LeadingOrder.all(of: number, among: entities, in: reader)
        entityNumber = number
        self.entities = entities
        entity = reader.model.entities[number]
        (self.predicate, self.compiled) = (predicate, compiled)
        parts = predicate.syntax.conjuncts
        partConstraints = compiled.constraints(onPartsOf: predicate.syntax) { [entity] slot in
            slot < PathTable.firstSlot ? entity.type(at: slot) : table.lookedUpType(ofSlot: slot)
        }
        constraints = partConstraints.flatMap(\.constraints)
    }

    /// A set of candidates, which includes all matching objects.
    private enum Found {
        case objects([RecordKey])
        case rows([Range<Int>], SectionedOrder)
        /// The number of unique keys in some intervals.
        case keys(UniqueConstraint, [KeyInterval], count: Int)

        var count: Int {
            switch self {
            case .objects(let objects): objects.count
            case .keys(_, _, let count): count
            case .rows(let ranges, _): ranges.reduce(0) { $0 + $1.count }
            }
        }
    }

    private struct Candidates {
        let source: FetchPlan.Source
        let found: Found
        let isExact: Bool
        /// The number of looked-up values or ranges.
        var lookUpCount = 1
    }

    // MARK: Answers

    func plan() throws -> FetchPlan {
        let rowCount = Int(clamping: try reader.count(of: entities))
        let choice: Choice
        do { choice = try self.choice() } catch  where error.isDamage { choice = .scan(.all) }
        switch choice {
        case .candidates(let best):
            return FetchPlan(
                source: best.source, rowsRead: best.found.count, rowCount: rowCount, isExact: best.isExact,
                lookUpCount: best.lookUpCount)
        case .scan(let selection):
            let skipped = try selection.skippedCount &+ skippedByColumns(selection)
            let rowsRead = max(0, rowCount - Int(clamping: skipped))
            return FetchPlan(source: .scan, rowsRead: rowsRead, rowCount: rowCount, isExact: false, lookUpCount: 0)
        }
    }

    /// The records on which the predicate is evaluated: all of the entity if a cache, a unique key or a zone is
    /// damaged.
    func selection() throws -> RecordSelection {
        do {
            switch try choice() {
            case .candidates(let best): return .objects(try objects(of: best))
            case .scan(let selection): return selection
            }
        } catch  where error.isDamage { return .all }
    }

    /// The candidates, by number.
    private func objects(of best: Candidates) throws -> [RecordKey] {
        switch best.found {
        case .objects(let objects): return objects.sorted()
        case .keys(let constraint, let intervals, _):
            return try intervals.flatMap {
                try reader.objects(entityNumber, constraint, from: $0.lower, to: $0.upper)
            }.sorted()
        case .rows(let ranges, let order):
            var objects: [RecordKey] = []
            objects.reserveCapacity(best.found.count)
            for range in ranges { try order.walkObjects(ranks: range) { objects.append($0) } }
            return objects.sorted()
        }
    }

    /// The number of matching records, if ranks give it without reading records; nil if not, or if a cache is damaged.
    /// O(caches x log n).
    func exactCountUnlessDamaged() throws -> Int? {
        do {
            for kept in leadingOrders {
                if let found = try candidates(of: kept), found.isExact { return found.found.count }
            }
        } catch  where error.isDamage {}
        return nil
    }

    private enum Choice {
        case candidates(Candidates)
        case scan(RecordSelection)
    }

    /// Chooses candidates if they are few enough to be read one by one. Zones are read only if they may decide.
    private func choice() throws -> Choice {
        let best = try candidates()
        if let best, best.found.count <= Self.fewLookUps { return .candidates(best) }
        let selection = try zonesToScan()
        if let best, try best.found.count <= limit(skipping: selection.skippedCount) { return .candidates(best) }
        return .scan(selection)
    }

    /// The smallest set of candidates, if looking them up one by one costs less than reading all records.
    private func candidates() throws -> Candidates? {
        let kept = try leadingOrders.compactMap(candidates)
        let limit = try limit()
        let hasUniqueKeys = entities.allSatisfy(reader.hasUniqueKeys)
        let others =
            try (hasUniqueKeys ? uniqueValues(limit) : [])
            + related(limit).map {
                Candidates(
                    source: $0.path == RelatedPath.keyName ? .identifiers : .related(path: $0.path),
                    found: .objects($0.objects), isExact: false)
            }
        let best = (others + kept).min { left, right in
            let (count, otherCount) = (left.found.count, right.found.count)
            return count < otherCount || count == otherCount && left.isExact && !right.isExact
        }
        // A key costs twice as much, because its record is also checked for the value.
        let shorter = min(limit, best.map { $0.found.count - 1 } ?? .max) / 2
        let range = hasUniqueKeys ? try uniqueRange(shorter) : nil
        guard let best = range ?? best, best.found.count <= limit else { return nil }
        return best
    }

    /// The maximum number of candidates that are looked up.
    private func limit(skipping skipped: UInt64 = 0) throws -> Int {
        let count = max(0, Int(clamping: try reader.count(of: entities)) - Int(clamping: skipped))
        let most = count / Self.recordsOfLookUp
        // A scan follows the paths of each record, which costs as much as looking it up.
        return table.allPaths.isEmpty ? max(count / Self.lookUpCost, min(most, Self.fewLookUps)) : most
    }

    // MARK: Sources

    /// Looks up at most `limit` keys: a scan is cheaper than more of them.
    private func uniqueValues(_ limit: Int) throws -> [Candidates] {
        try constraints.compactMap { constraint in
            guard let values = constraint.demand.values, entity.uniqueConstraint(ofSlot: constraint.slot) != nil,
                values.count <= limit, !values.contains(where: \.isNull)
            else { return nil }
            let objects = try values.compactMap {
                try reader.object(entityNumber, slot: constraint.slot, equalTo: $0)
            }
            return Candidates(
                source: source(of: constraint.slot), found: .objects(Array(Set(objects))), isExact: false,
                lookUpCount: values.count)
        }
    }

    /// The smallest set of ranges to which the predicate limits a unique attribute, if it has at most `limit` keys.
    /// O(log n + limit) for each attribute, and O(log n) for each range.
    private func uniqueRange(_ limit: Int) throws -> Candidates? {
        // If the first objects are enough, a scan may find them before this many keys are counted.
        var limit = endsEarly ? min(limit, Self.fewLookUps / 2) : limit
        var shortest: Candidates?
        for constraint in entity.uniqueConstraints where constraint.slots.count == 1 && limit >= 0 {
            let slot = constraint.slots[0]
            // Demands for values are handled by `uniqueValues`.
            guard !constraints.contains(where: { $0.slot == slot && $0.demand.values != nil }),
                let intervals = bounds(of: partConstraints, on: [IndexKey(slot: slot, isDescending: false)]).intervals
            else { continue }
            guard let count = try keyCount(constraint, intervals, atMost: limit) else { continue }
            shortest = Candidates(
                source: source(of: slot), found: .keys(constraint, intervals, count: count), isExact: false,
                lookUpCount: intervals.count)
            limit = count - 1
        }
        return shortest
    }

    /// The number of unique keys in intervals; nil if there are more keys, or more intervals, than a limit.
    private func keyCount(
        _ constraint: UniqueConstraint, _ intervals: [KeyInterval], atMost limit: Int
    ) throws -> Int? {
        guard intervals.count <= max(1, limit) else { return nil }
        var count = 0
        for interval in intervals {
            guard
                let more = try reader.keyCount(
                    entityNumber, constraint, from: interval.lower, to: interval.upper, atMost: limit - count)
            else { return nil }
            count += more
        }
        return count
    }

    private func source(of slot: Int) -> FetchPlan.Source { .uniqueKey(attribute: entity.attribute(at: slot).name) }

    private func candidates(of kept: LeadingOrder) throws -> Candidates? {
        // The predicate doesn't bound the leading attribute of most caches, so their own predicates aren't even parsed.
        let isBounded = constraints.contains { $0.slot == kept.keys[0].slot }
        guard isBounded || kept.isOf(predicate), kept.known != nil else { return nil }
        // A cache of some rows can only serve a predicate that selects among these.
        guard kept.knownParts.isSubset(of: parts) else { return nil }
        let demanded = zip(parts, partConstraints).filter { !kept.knownParts.contains($0.0) }.map(\.1)
        let bounds = bounds(of: demanded, on: kept.keys)
        guard bounds.intervals != nil || bounds.isExact else { return nil }
        let order = try kept.order()
        // Finding a range takes as long as reading some rows.
        guard bounds.intervals?.count ?? 0 <= max(Self.maximumIntervals, order.rowCount / Self.recordsOfLookUp) else {
            return nil
        }
        let names = kept.keys.prefix(max(1, bounds.keyCount)).map { entity.attribute(at: $0.slot).name }
        return Candidates(
            source: .order(name: kept.name, attribute: names.joined(separator: ", ")),
            found: .rows(try ranges(bounds.intervals, in: order), order), isExact: bounds.isExact,
            lookUpCount: bounds.intervals?.count ?? 1)
    }

    /// The maximum number of intervals that are looked up one by one.
    private static let maximumIntervals = 1000

    /// The intervals of row keys to which parts of the predicate limit them, nil if no part does; the number of bounded
    /// keys; and whether the parts demand nothing else.
    private func bounds(
        of parts: [PartConstraints], on keys: [IndexKey]
    ) -> (intervals: [KeyInterval]?, keyCount: Int, isExact: Bool) {
        var bounded: [KeyInterval]?
        // The prefixes of row keys whose leading values are known.
        var prefixes: [[UInt8]] = [[]]
        var used = 0
        var unused = parts.count
        for key in keys {
            let here = parts.filter { $0.constraints.contains { $0.slot == key.slot } }
            let demands = here.flatMap { $0.constraints.filter { $0.slot == key.slot } }.map(\.demand)
            if demands.isEmpty { break }
            let admitted = demands.map { KeyInterval.intervals($0, entity.attribute(at: key.slot).type) }
            let intervals = admitted.dropFirst().reduce(admitted[0]) { KeyInterval.intersection($0, $1) }
            guard used == 0 || prefixes.count * intervals.count <= Self.maximumIntervals else { break }
            let directed = key.isDescending ? intervals.map(\.reversed) : intervals
            bounded = prefixes.flatMap { prefix in directed.map { $0.following(prefix) } }
            used += 1
            unused -= here.count { $0.isWhole && $0.constraints.allSatisfy { $0.slot == key.slot } }
            // The next key is sorted only among rows with equal values of this one.
            if !demands.contains(where: { $0.values != nil }) { break }
            let values = intervals.map { key.isDescending ? $0.lower.map { ~$0 } : $0.lower }
            prefixes = prefixes.flatMap { prefix in values.map { prefix + $0 } }
        }
        return (bounded, used, unused == 0)
    }

    private func ranges(_ intervals: [KeyInterval]?, in order: SectionedOrder) throws -> [Range<Int>] {
        guard let intervals else { return [0..<order.rowCount] }
        return try intervals.map { bounds in
            let first = try order.rowRank(of: bounds.lower)
            return first..<max(first, try order.rowRank(of: bounds.upper))
        }
    }
}
