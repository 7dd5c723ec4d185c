internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexValues

/// What a scan reads of some numbers of a zone.
struct ZoneSelection {
    /// Those that are to be read, ascending.
    var ranges: [Range<UInt64>]
    /// How many objects have the others.
    var skippedCount: UInt64 = 0
}

extension StoreReader {
    /// Numbers that are not far from each other are read as one range: so many records stand on a page, and to seek one takes as long as
    /// to read some.
    private static let shortestGap = 48

    /// Hands out what a scan reads of some numbers of an entity, in their order, until the body returns false. What lies between the
    /// zones that are stored is read. O(numbers that columns tell of + zones).
    func forEachSelection(
        of entity: Int, in numbers: Range<UInt64>, _ filter: ScanFilter, _ body: (ZoneSelection) throws -> Bool
    ) throws {
        try view.withCursor(on: tables.meta) { cursor in
            var lower = numbers.lowerBound
            let first = ZoneKey(RecordKey(entity: entity, number: lower)).bytes
            // Behind a damaged page, all is read.
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

    /// Those of some numbers of a zone that objects which pass the tests may have. All where less than a quarter of the objects can be left
    /// out, where nothing is known (the check says what is damaged), and where a test fails: the scan will meet the object, and say so.
    private func select(
        _ numbers: Range<UInt64>, of key: ZoneKey, _ zone: Zone?, _ filter: ScanFilter
    ) -> ZoneSelection {
        let all = ZoneSelection(ranges: [numbers])
        guard let zone else { return all }
        if let mayHave = filter.mayHave, !mayHave(zone.bounds) {
            let isWhole = numbers.upperBound - numbers.lowerBound == Zone.length
            if isWhole && filter.alsoRead.isEmpty { return ZoneSelection(ranges: [], skippedCount: zone.count) }
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
        var next = filter.alsoRead.indices.firstNumber { filter.alsoRead[$0] >= numbers.lowerBound }
        while next < filter.alsoRead.count, numbers.contains(filter.alsoRead[next]) {
            let place = key.place(of: filter.alsoRead[next])
            if place < coded.end { places[place] = true }
            next += 1
        }
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
        // Behind the codes, all numbers are read.
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

    /// Calls the body with the keys of all columns, of all entities. O(columns).
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

    /// How many objects a scan leaves out, of those with some numbers. O(numbers).
    package func skippedCount(of entity: Int, in wanted: NumberRanges, where filter: ScanFilter) throws -> UInt64 {
        if hasOpenZones { return 0 }
        var skipped: UInt64 = 0
        for range in wanted.within(0..<(try entityState(entity).nextObject)) {
            try forEachSelection(of: entity, in: range, filter) {
                skipped += $0.skippedCount
                return true
            }
        }
        return skipped
    }
}
