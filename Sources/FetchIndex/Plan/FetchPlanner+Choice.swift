internal import FetchIndexRecords

/// Chooses the plan that costs least. Prices are in records of a scan by two threads.
extension FetchPlanner {
    /// The price of a candidate that is found by a value or a link.
    private static let lookUpPrice = 32
    /// The price of a candidate in a range of a cache's rows: a walk finds it, and its record is often near another one
    /// that is read.
    private static let rowPrice = 5
    /// The price of a candidate if the predicate has key paths. A scanned record costs nearly as much, because the scan
    /// follows the paths, too.
    private static let priceWithPaths = 4
    /// The number of codes that a scan compares in columns at the price of a record.
    private static let codesOfRecord = 20
    /// Candidates that cost less than a scan of one record in this many are looked up without reading zones, since that
    /// costs more.
    private static let recordsOfZones = 50
    /// Up to this many records may be looked up even if a scan would take less time, because looking them up takes only
    /// some hundred microseconds.
    static let fewLookUps = 256
    /// At most a fraction of the entity's records is looked up: one in this many.
    private static let recordsOfLookUp = 4

    enum Choice {
        case candidates(Candidates)
        case first(RowWalk, FetchPlan.Source, lookUpCount: Int)
        case scan(RecordSelection)
    }

    /// Chooses candidates if they cost less than a scan, otherwise a scan. Before a costly one of both, tries to find the
    /// first rows by a walk. For few candidates, no zones are read.
    func choice() throws -> Choice {
        let best = try candidates()
        let isCheap = try best.map { try price(of: $0) <= cheapPrice() } ?? false
        if let best, try best.found.count <= fewLookUps() || first == nil && isCheap { return .candidates(best) }
        var known: RecordSelection?
        func zones() throws -> RecordSelection {
            let zones = try known ?? zonesToScan()
            known = zones
            return zones
        }
        // A walk doesn't pay if a scan skips nearly all zones.
        if first != nil, try mostScanned(zones()) > cheapPrice(),
            let found = try firstRows({
                let price = best.map(price) ?? .max
                return isCheap ? price : try min(price, scanPrice(zones()))
            })
        {
            return .first(found.walk, found.source, lookUpCount: found.lookUpCount)
        }
        if let best, try isCheap || isCheaper(best, than: zones()) { return .candidates(best) }
        return .scan(try zones())
    }

    private func isCheaper(_ candidates: Candidates, than selection: RecordSelection) throws -> Bool {
        let price = price(of: candidates)
        return try price <= mostScanned(selection) && price <= scanPrice(selection)
    }

    private func mostScanned(_ selection: RecordSelection) throws -> Int {
        try max(0, recordCount() - Int(clamping: selection.skippedCount))
    }

    private func scanPrice(_ selection: RecordSelection) throws -> Int {
        let most = try mostScanned(selection)
        guard let skipped = try skippedByColumns(selection, fromSample: true) else { return most }
        return most - min(most, Int(clamping: skipped)) + most / Self.codesOfRecord
    }

    /// About the price of reading the bounds of all zones. For a plan that costs less, it doesn't pay to read them.
    func cheapPrice() throws -> Int { try recordCount() / Self.recordsOfZones }

    private func price(of candidates: Candidates) -> Int {
        let price =
            switch candidates.found {
            case .objects: lookUpPrice
            case .rows: rowPrice
            case .keys: keyPrice
            }
        return candidates.found.count * price
    }

    var lookUpPrice: Int { table.allPaths.isEmpty ? Self.lookUpPrice : Self.priceWithPaths }

    /// The price of a row is higher if the fetch ends early: all rows of a range are found even if few of them are read.
    private var rowPrice: Int { table.allPaths.isEmpty && !endsEarly ? Self.rowPrice : lookUpPrice }

    /// The price of a unique key in a range. It's higher, because the record's value is compared with the key.
    private var keyPrice: Int { 2 * lookUpPrice }

    private func recordCount() throws -> Int { Int(clamping: try reader.count(of: entities)) }

    /// The number of records that may be looked up even if a scan costs less.
    private func fewLookUps() throws -> Int { try min(recordCount() / Self.recordsOfLookUp, Self.fewLookUps) }

    /// The set of candidates that should cost least; nil if none can be looked up, or if they are many and a scan of all
    /// records costs less.
    private func candidates() throws -> Candidates? {
        let kept = try leadingOrders.compactMap(candidates)
        let limit = try mostLookUps(at: lookUpPrice)
        let hasUniqueKeys = entities.allSatisfy(reader.hasUniqueKeys)
        let others =
            try (hasUniqueKeys ? uniqueValues(limit) : [])
            + related(limit).map {
                Candidates(
                    source: $0.path == RelatedPath.keyName ? .identifiers : .related(path: $0.path),
                    found: .objects($0.objects), isExact: false)
            }
        let best = (others + kept).min { left, right in
            let (price, otherPrice) = (self.price(of: left), self.price(of: right))
            return price < otherPrice || price == otherPrice && left.isExact && !right.isExact
        }
        guard hasUniqueKeys else { return best }
        let fewest = best.map { (price(of: $0) - 1) / keyPrice } ?? .max
        return try uniqueRange(min(fewest, mostLookUps(at: keyPrice))) ?? best
    }

    /// The maximum number of candidates to look up at a price; if there are more, a scan of all records costs less.
    private func mostLookUps(at price: Int) throws -> Int {
        let fewest = try fewLookUps() * lookUpPrice / price
        return try max(recordCount() / price, fewest)
    }
}
