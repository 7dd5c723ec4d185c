internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexValues

/// The object numbers that a scan reads in a zone, or in a range of object numbers without stored zones.
struct ZoneSelection {
    /// The numbers to read, in ascending order.
    var ranges: [Range<UInt64>]
    /// The number of objects that this selection skips.
    var skippedCount: UInt64 = 0
}

/// Scan skipping for readers: zones (bounds of values) and columns (texts by code) show which objects cannot match.
///
///     numbers(of:where:)    skips whole zones before the scan, which divides the rest among threads
///     zones(of:in:by:)      sorts the rest, so that the zones with the first rows are read first
///     forEachSelection      skips zones and objects during the scan
extension StoreReader {
    /// The object numbers of an entity to scan: all except those of zones whose bounds show that no object matches.
    /// Returns all numbers if less than about a quarter of the objects would be skipped, since after a complete scan,
    /// later scans needn't verify the records. Throws `corrupted` if a zone is damaged. O(zones).
    package func numbers(of entity: Int, where mayHave: (RecordBounds) -> Bool) throws -> NumberRanges {
        // Stored zones can't be used while the transaction has changed zones and hasn't written them yet.
        if hasOpenZones { return .all }
        let types = RecordBounds.types(of: model.entities[entity])
        var skipped: [NumberRanges.Skipped] = []
        try forEachZone(of: entity) { key, value in
            let zone = try Zone(value, at: key)
            if !mayHave(zone.bounds.of(types)) { skipped.append(.init(numbers: key.numbers, count: zone.count)) }
        }
        let numbers = NumberRanges(skipping: skipped)
        return try numbers.skippedCount >= entityState(entity).count / 4 ? numbers : .all
    }

    /// The wanted object numbers of each zone of an entity, sorted by the bounds of the zones. Zones with equal bounds, and
    /// zones whose bounds are unknown, which are first, are sorted by object number. Returns nil while a transaction has
    /// changed zones and hasn't written them yet. O(zones log zones).
    func zones(
        of entity: Int, in wanted: NumberRanges, by precedes: (RecordBounds, RecordBounds) -> Bool
    ) throws -> [[Range<UInt64>]]? {
        if hasOpenZones { return nil }
        let types = RecordBounds.types(of: model.entities[entity])
        var stored: [UInt64: RecordBounds] = [:]
        try forEachZone(of: entity) { key, value in stored[key.index] = (try? Zone(value, at: key))?.bounds.of(types) }
        // The last zone counts as whole, since a zone of which only a part is read isn't skipped by its bounds.
        let end = (try entityState(entity).nextObject + Zone.length - 1) / Zone.length * Zone.length
        var zones: [(bounds: RecordBounds?, index: UInt64, numbers: [Range<UInt64>])] = []
        let start = min(try firstNumber(of: entity) / Zone.length * Zone.length, end)
        for range in wanted.within(start..<end) {
            range.forEachZone(of: entity) { key, numbers in
                if zones.last?.index == key.index {
                    zones[zones.count - 1].numbers.append(numbers)
                } else {
                    zones.append((stored[key.index], key.index, [numbers]))
                }
            }
        }
        zones.sort { one, other in
            guard let left = one.bounds, let right = other.bounds else {
                return one.bounds == nil && (other.bounds != nil || one.index < other.index)
            }
            return precedes(left, right) || !precedes(right, left) && one.index < other.index
        }
        return zones.map(\.numbers)
    }

    /// Estimates how many objects with wanted object numbers a scan with this filter skips. A scan that is divided into
    /// parts may skip another number of them. If there are more than `most` zones, about that many are read, at equal
    /// distances. O(numbers with codes in the zones that are read).
    package func skippedCount(
        of entity: Int, in wanted: NumberRanges, where filter: ScanFilter, sampling most: Int = .max
    ) throws -> UInt64 {
        if hasOpenZones { return 0 }
        let ranges = wanted.within(0..<(try entityState(entity).nextObject))
        let zoneCount = ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } / Zone.length
        let distance = max(1, zoneCount / UInt64(most))
        var (zone, skipped): (UInt64, UInt64) = (0, 0)
        for range in ranges {
            try range.forEachZone(of: entity) { _, numbers in
                zone += 1
                guard (zone - 1) % distance == distance / 2 else { return }
                try forEachSelection(of: entity, in: numbers, filter) {
                    skipped += $0.skippedCount
                    return true
                }
            }
        }
        return skipped * distance
    }

    /// The minimum gap between two ranges that are read. Objects in shorter gaps are read too: a page has about this
    /// many records, and a seek takes as long as reading some of them.
    private static let shortestGap = 48

    /// Calls the body with the object numbers that a scan must read, out of a range of an entity's object numbers, in
    /// ascending order, until the body returns false. Object numbers outside of stored zones are always read.
    /// O(numbers with codes + zones).
    func forEachSelection(
        of entity: Int, in numbers: Range<UInt64>, _ filter: ScanFilter, _ body: (ZoneSelection) throws -> Bool
    ) throws {
        try view.withCursor(on: tables.meta) { cursor in
            var lower = numbers.lowerBound
            let first = ZoneKey(RecordKey(entity: entity, number: lower)).bytes
            // If a page is damaged, all remaining numbers are read.
            var isFound = (try? cursor.seek(toKeyFrom: first.span.bytes)) ?? false
            while isFound, let key = ZoneKey(cursor.key), key.entity == entity,
                key.numbers.lowerBound < numbers.upperBound
            {
                let start = max(lower, key.numbers.lowerBound)
                if lower < start, try !body(ZoneSelection(ranges: [lower..<start])) { return }
                lower = min(numbers.upperBound, key.numbers.upperBound)
                let zone = try? Zone(cursor.value, at: key)
                if try !body(select(start..<lower, of: key, zone, filter)) { return }
                isFound = (try? cursor.seekToNext()) ?? false
            }
            if lower < numbers.upperBound { _ = try body(ZoneSelection(ranges: [lower..<numbers.upperBound])) }
        }
    }

    /// Selects at least those object numbers of a zone that may belong to objects which pass the tests of a filter.
    /// Selects none if all numbers of the zone are given and its bounds show that no object matches. Selects all given
    /// numbers if less than a quarter of the objects with codes could be skipped; if no test has a column; if the zone
    /// is damaged, or a column is damaged or missing (`check` reports that); or if a test throws, so that the scan
    /// reads the object and throws the error.
    private func select(
        _ numbers: Range<UInt64>, of key: ZoneKey, _ zone: Zone?, _ filter: ScanFilter
    ) -> ZoneSelection {
        let all = ZoneSelection(ranges: [numbers])
        guard let zone else { return all }
        // Bounds skip whole zones only: how many objects a part of a zone has is unknown.
        if numbers == key.numbers, let mayHave = filter.mayHave,
            !mayHave(zone.bounds.of(RecordBounds.types(of: model.entities[key.entity])))
        {
            return ZoneSelection(ranges: [], skippedCount: zone.count)
        }
        let coded = zone.coded
        let tests = filter.tests.filter { coded.slots.contains($0.slot) }
        if tests.isEmpty { return all }
        var places = [Bool](repeating: true, count: coded.end)
        var present = places
        for test in tests {
            let name = TextColumnKey(key, slot: test.slot)
            let isFound = try? view.get(name.bytes, in: tables.meta) { value in
                let column = try TextColumn(value, at: name, count: coded.end)
                column.select(try column.codes(where: test), in: &places, present: &present)
            }
            guard isFound == true else { return all }
        }
        for place in coded.changed where place < coded.end { places[Int(place)] = true }
        return selection(of: numbers, at: key, places, present)
    }

    private func selection(
        of numbers: Range<UInt64>, at key: ZoneKey, _ places: [Bool], _ present: [Bool]
    ) -> ZoneSelection {
        let (lower, upper) = (key.place(of: numbers.lowerBound), key.place(of: numbers.upperBound))
        let end = min(upper, places.count)
        var (found, read): (ZoneSelection, Int) = (ZoneSelection(ranges: []), 0)
        func add(_ range: Range<Int>) {
            let base = key.numbers.lowerBound
            found.ranges.append(base + UInt64(range.lowerBound)..<base + UInt64(range.upperBound))
            read += present[range.clamped(to: 0..<end)].count { $0 }
        }
        var open: Range<Int>?
        var place = min(lower, end)
        while let wanted = places[place..<end].firstIndex(of: true) {
            if let range = open, wanted - range.upperBound >= Self.shortestGap {
                add(range)
                open = nil
            }
            open = (open?.lowerBound ?? wanted)..<wanted + 1
            place = wanted + 1
        }
        // The columns have no codes for the places from `end` upwards, so their object numbers are always read.
        if end < upper {
            let start = max(lower, end)
            if let range = open, start - range.upperBound < Self.shortestGap {
                open = range.lowerBound..<upper
            } else {
                if let open { add(open) }
                open = start..<upper
            }
        }
        if let open { add(open) }
        let count = lower < end ? present[lower..<end].count { $0 } : 0
        if (count - read) * 4 < count { return ZoneSelection(ranges: [numbers]) }
        found.skippedCount = UInt64(count - read)
        return found
    }

    /// Calls the body with an entity's zones, in the order of their indexes. O(zones).
    func forEachZone(of entity: Int, _ body: (ZoneKey, RawSpan) throws -> Void) throws {
        try view.withCursor(on: tables.meta) { cursor in
            var isFound = try cursor.seek(toKeyFrom: ZoneKey(entity: entity, index: 0).bytes.span.bytes)
            while isFound, let key = ZoneKey(cursor.key), key.entity == entity {
                try body(key, cursor.value)
                isFound = try cursor.seekToNext()
            }
        }
    }

    /// Calls the body with the keys of the columns of all entities. O(columns).
    func forEachColumn(_ body: (TextColumnKey) throws -> Void) throws {
        let prefix = TextColumnKey.prefix
        try view.withCursor(on: tables.meta) { cursor in
            var isFound = try cursor.seek(toKeyFrom: prefix.span.bytes)
            while isFound, let key = TextColumnKey(cursor.key) {
                try body(key)
                isFound = try cursor.seekToNext()
            }
        }
    }
}
