internal import FetchIndexCountedTree
internal import FetchIndexPlatform
internal import FetchIndexSorting
internal import FetchIndexValues

/// All rows and sections of an order in one state, for a comparison.
struct ComparedRows {
    let rowCount: Int
    let sectionCount: Int
    /// The sections by their values. The ranks of their first rows aren't known yet. In an order without sections, the
    /// only section has the empty value.
    let sections: [[UInt8]: SectionPlace]
    /// Calls a closure with the row keys, in ascending order.
    let forEachKey: ((RawSpan) throws -> Void) throws -> Void

    /// Reads an order's trees.
    init(of order: SectionedOrder) throws {
        (rowCount, sectionCount) = (order.rowCount, order.sectionCount)
        forEachKey = { body in
            try order.rows.walk(from: 0) { row in
                try body(row.key)
                return true
            }
        }
        guard order.shape.hasSections else {
            sections = [[]: SectionPlace(index: 0, firstRank: 0, count: order.rowCount, key: [])]
            return
        }
        var places: [[UInt8]: SectionPlace] = [:]
        var index = 0
        try order.sections.walk(from: 0) { entry in
            guard let parts = order.shape.valueAndHeading(in: entry.key) else {
                throw SectionedOrder.corrupted("a section key is too short")
            }
            var heading: [UInt8]?
            if let range = parts.heading { heading = [UInt8](copying: entry.key.extracting(range)) }
            places[[UInt8](copying: entry.key.extracting(parts.value))] = SectionPlace(
                index: index, firstRank: 0, count: entry.weight, key: [UInt8](copying: entry.key), heading: heading)
            index += 1
            return true
        }
        sections = places
    }

    /// Merges sorted row keys. The order must not have headings.
    init(sorted sorters: [KeySorter], _ shape: OrderShape) throws {
        forEachKey = { body in
            try KeySorter.forEachSorted(of: sorters) { row in
                try SortedEntry.withParts(of: row, in: shape) { key, _ in try body(key) }
            }
        }
        rowCount = sorters.reduce(0) { $0 + $1.count }
        guard shape.hasSections else {
            sectionCount = 1
            sections = [[]: SectionPlace(index: 0, firstRank: 0, count: rowCount, key: [])]
            return
        }
        var places: [(value: [UInt8], place: SectionPlace)] = []
        func end(_ section: OrderBuilder.OpenSection) {
            let key = shape.sectionKey(value: section.value, nil, firstRow: section.firstRow, count: section.count)
            places.append((section.value, SectionPlace(index: 0, firstRank: 0, count: section.count, key: key)))
        }
        var current = OrderBuilder.OpenSection()
        try KeySorter.forEachSorted(of: sorters) { row in
            try SortedEntry.withParts(of: row, in: shape) { key, summary in
                try current.add(key, summary) { end($0) }
            }
        }
        if current.count > 0 { end(current) }
        places.sort { $0.place.key.span.bytes.compare($1.place.key.span.bytes) < 0 }
        for index in places.indices { places[index].place.index = index }
        sectionCount = places.count
        sections = Dictionary(places.map { ($0.value, $0.place) }) { first, _ in first }
    }
}

/// Finds the sections of rows of the old state.
struct OldSections {
    private let places: [SectionPlace?]
    /// The numbers of the sections that existed, in the order of their rows.
    private let numbers: [Int]

    /// Takes the places of all sections, in the order of their values; nil for a section that didn't exist.
    init(_ places: [SectionPlace?]) {
        self.places = places
        numbers = places.indices.filter { places[$0] != nil }
    }

    /// The path of a row, and the number of its section. O(log s) for s sections.
    func path(ofRank rank: Int) throws -> (path: RowPath, section: Int) {
        let next = (0..<numbers.count).firstNumber { places[numbers[$0]]?.firstRank ?? 0 > rank }
        guard next > 0, let place = places[numbers[next - 1]] else {
            throw SectionedOrder.corrupted("a row is in no section")
        }
        return (RowPath(section: place.index, row: rank - place.firstRank), numbers[next - 1])
    }
}
