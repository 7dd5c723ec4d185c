internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexValues

/// Chooses the candidates of a fetch, on which the whole predicate is then evaluated. For each part of the predicate's
/// topmost AND that bounds an attribute, candidates can be looked up in a current cache with that leading attribute, by
/// the attribute's unique keys, or by links from related objects.
///
/// If candidates can't be looked up, or are too many, the records are scanned. The scan may skip zones that can't have
/// a match. The first rows of a sorted fetch can be found by a walk in their order.
///
/// The planner compares exact counts: two ranks give the number of rows in a range of a cache, and unique keys in a
/// range are counted.
struct FetchPlanner {
    let reader: StoreReader
    let entityNumber: Int
    /// The entities whose objects are fetched.
    let entities: [Int]
    let entity: Entity
    /// The slots of key paths.
    let table: PathTable
    private let predicate: FetchPredicate
    private let parts: [PredicateSyntax]
    let compiled: CompiledPredicate
    /// The constraints on attributes, for each part of the predicate.
    private let partConstraints: [PartConstraints]
    /// The constraints on attributes of all parts together.
    let constraints: [AttributeConstraint]

    /// The fresh caches whose row keys begin with an attribute, in the reader's state.
    let leadingOrders: [LeadingOrder]
    /// Whether the fetch stops after some objects. It reads them in the order of their object numbers.
    let endsEarly: Bool
    /// The rows that a sorted fetch wants; nil if it wants all rows.
    let first: FirstRows?

    /// `compiled` is the predicate, compiled for the entity. `entities` are the entity and, if wanted, its subentities.
    /// If `leadingOrders` is nil, they are read from the reader.
    init(
        _ predicate: FetchPredicate, _ compiled: CompiledPredicate, _ table: PathTable, entity number: Int,
        among entities: [Int], in reader: StoreReader, _ leadingOrders: [LeadingOrder]? = nil, endsEarly: Bool = false,
        first: FirstRows? = nil
    ) throws {
        (self.reader, self.table, self.endsEarly, self.first) = (reader, table, endsEarly, first)
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

    /// A set of candidates that contains all matching objects.
    enum Found {
        case objects([RecordKey])
        case rows([Range<Int>], SectionedOrder)
        /// The unique keys of a constraint in some intervals, and their number.
        case keys(UniqueConstraint, [KeyInterval], count: Int)

        var count: Int {
            switch self {
            case .objects(let objects): objects.count
            case .keys(_, _, let count): count
            case .rows(let ranges, _): ranges.reduce(0) { $0 + $1.count }
            }
        }
    }

    struct Candidates {
        let source: FetchPlan.Source
        let found: Found
        let isExact: Bool
        /// The number of values or ranges that are looked up.
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
                lookUpCount: best.lookUpCount, isInOrder: false)
        case .first(let walk, let source, let lookUpCount):
            return FetchPlan(
                source: source, rowsRead: walk.readCount, rowCount: rowCount, isExact: false, lookUpCount: lookUpCount,
                isInOrder: true)
        case .scan(let selection):
            let skipped = try selection.skippedCount &+ (skippedByColumns(selection) ?? 0)
            let rowsRead = max(0, rowCount - Int(clamping: skipped))
            return FetchPlan(
                source: .scan, rowsRead: rowsRead, rowCount: rowCount, isExact: false, lookUpCount: 0, isInOrder: false)
        }
    }

    /// The records on which the predicate must be evaluated; all records if damage is found.
    func selection() throws -> RecordSelection {
        do {
            switch try choice() {
            case .candidates(let best): return .objects(try objects(of: best))
            case .first(let walk, _, _): return .objects(walk.objects.sorted())
            case .scan(let selection): return selection
            }
        } catch  where error.isDamage { return .all }
    }

    /// The candidates' keys, in ascending order.
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
            for range in ranges {
                try order.walkObjects(ranks: range) {
                    objects.append($0)
                    return true
                }
            }
            return objects.sorted()
        }
    }

    /// The number of matching records, if a cache's ranks give it; nil if records must be read, or if a cache is
    /// damaged. O(caches x ranges x log n).
    func exactCountUnlessDamaged() throws -> Int? {
        do {
            for kept in leadingOrders {
                if let found = try candidates(of: kept), found.isExact { return found.found.count }
            }
        } catch  where error.isDamage {}
        return nil
    }

    // MARK: Sources

    /// Looks up the unique values that the predicate demands. Leaves out an attribute with more than `limit` values, or
    /// with null among them.
    func uniqueValues(_ limit: Int) throws -> [Candidates] {
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

    /// Looks for the unique attribute with the fewest unique keys in the ranges to which the predicate limits it, and
    /// returns these ranges. Returns nil if the predicate limits no unique attribute to at most `limit` keys. O(log n +
    /// limit) for each attribute, and O(log n) for each range.
    func uniqueRange(_ limit: Int) throws -> Candidates? {
        // A scan that stops early may end before many keys are counted, so only a few are counted.
        var limit = endsEarly ? min(limit, Self.fewLookUps / 2) : limit
        var shortest: Candidates?
        for constraint in entity.uniqueConstraints where constraint.slots.count == 1 && limit >= 0 {
            let slot = constraint.slots[0]
            // Demands for values are handled by `uniqueValues`.
            guard !constraints.contains(where: { $0.slot == slot && $0.demand.values != nil }),
                let intervals = intervals(of: slot)
            else { continue }
            guard let count = try keyCount(constraint, intervals, atMost: limit) else { continue }
            shortest = Candidates(
                source: source(of: slot), found: .keys(constraint, intervals, count: count), isExact: false,
                lookUpCount: intervals.count)
            limit = count - 1
        }
        return shortest
    }

    /// The intervals of an attribute's values that contain all matches; nil if the predicate doesn't limit them.
    func intervals(of slot: Int) -> [KeyInterval]? {
        bounds(of: partConstraints, on: [IndexKey(slot: slot, isDescending: false)]).intervals
    }

    /// The number of unique keys in intervals. Returns nil if it exceeds `limit`, or without a search if more than one
    /// interval is given and their number exceeds `limit`.
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

    func source(of slot: Int) -> FetchPlan.Source { .uniqueKey(attribute: entity.attribute(at: slot).name) }

    func candidates(of kept: LeadingOrder) throws -> Candidates? {
        // Most caches are rejected here, before their own predicates are parsed.
        let isBounded = constraints.contains { $0.slot == kept.keys[0].slot }
        guard isBounded || kept.isOf(predicate) else { return nil }
        return try rows(of: kept).flatMap { $0.isLimited ? $0.rows : nil }
    }

    /// The rows of a cache that may match, and whether the predicate limits them, or all rows match. Returns nil if the
    /// cache may lack matching objects.
    func rows(of kept: LeadingOrder) throws -> (rows: Candidates, isLimited: Bool)? {
        // All conditions of the cache's own predicate must be in this predicate.
        guard kept.known != nil, kept.knownParts.isSubset(of: parts) else { return nil }
        let demanded = zip(parts, partConstraints).filter { !kept.knownParts.contains($0.0) }.map(\.1)
        let bounds = bounds(of: demanded, on: kept.keys)
        let order = try kept.order()
        // Finding a range costs as much as reading some rows, so the number of ranges is limited.
        guard bounds.intervals?.count ?? 0 <= max(Self.maximumIntervals, order.rowCount / Self.rowsOfInterval) else {
            return nil
        }
        let names = kept.keys.prefix(max(1, bounds.keyCount)).map { entity.attribute(at: $0.slot).name }
        let rows = Candidates(
            source: .order(name: kept.name, attribute: names.joined(separator: ", ")),
            found: .rows(try ranges(bounds.intervals, in: order), order), isExact: bounds.isExact,
            lookUpCount: bounds.intervals?.count ?? 1)
        return (rows, bounds.intervals != nil || bounds.isExact)
    }

    /// Up to this many intervals of a cache's rows may be looked up one by one, even if the cache has few rows.
    private static let maximumIntervals = 1000
    /// In a larger cache, at most one interval per this many rows is looked up.
    private static let rowsOfInterval = 4

    /// The intervals of row keys that contain all matches, or nil if the predicate doesn't limit them; the number of
    /// keys that are bounded; and whether the intervals contain only matches.
    private func bounds(
        of parts: [PartConstraints], on keys: [IndexKey]
    ) -> (intervals: [KeyInterval]?, keyCount: Int, isExact: Bool) {
        var bounded: [KeyInterval]?
        // The beginnings of row keys, one for each combination of values that the keys so far may have.
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
            // A further key can be used only if this key is limited to single values, because rows are sorted by the
            // further key only among equal values of this key.
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
